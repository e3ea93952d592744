# SPDX-License-Identifier: MIT
"""Sphinx configuration of the manual."""

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
