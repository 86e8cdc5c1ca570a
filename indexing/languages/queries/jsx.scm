; Rendering a component calls it; lower-case elements are the platform's own.
((jsx_opening_element name: (identifier) @call) (#match? @call "^[A-Z]"))
((jsx_self_closing_element name: (identifier) @call) (#match? @call "^[A-Z]"))
(jsx_opening_element
  name: (member_expression object: (_) @receiver property: (property_identifier) @call))
(jsx_self_closing_element
  name: (member_expression object: (_) @receiver property: (property_identifier) @call))
(jsx_expression (identifier) @value)
