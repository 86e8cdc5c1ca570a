(section . (atx_heading heading_content: (inline) @name)) @definition.document
(section (setext_heading heading_content: (paragraph (inline) @name))) @definition.document
