# SPDX-License-Identifier: MIT
"""Sphinx configuration of the manual."""

import logging

project = 'uma'
copyright = 'the uma contributors'
extensions = []
master_doc = 'index'
exclude_patterns = ['api']
html_theme = 'alabaster'
html_theme_options = {'page_width': '1100px', 'fixed_sidebar': True}
html_show_sourcelink = False
c_id_attributes = ['ACCEL_API']
highlight_language = 'c'
# kernel-doc of a header is included by one page; names of the kernel's types
# have no page here.
nitpicky = False


# Tags and functions of C have name spaces of their own; Sphinx keeps both in one.
class _SameName(logging.Filter):
    BOTH = ['accel_binary', 'accel_cost', 'accel_kv_append', 'accel_norm', 'accel_softmax', 'accel_unary']

    def filter(self, record):
        text = record.getMessage()
        return not (text.startswith('Duplicate C declaration') and
                    any(f' {name} (' in text for name in self.BOTH))


logging.getLogger('sphinx.sphinx.domains.c').addFilter(_SameName())
