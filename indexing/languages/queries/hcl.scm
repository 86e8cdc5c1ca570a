; A block is named by its labels; `resource "type" "name"` by type and name.
(block . (identifier) @receiver . (string_lit (template_literal) @name) . (block_start)) @definition.class
(block
  . (identifier)
  . (string_lit (template_literal) @receiver)
  . (string_lit (template_literal) @name)) @definition.class
(config_file (body (block . (identifier) @name . (block_start)) @definition.class))
(config_file (body (attribute . (identifier) @name) @definition.variable))
(block (body (attribute . (identifier) @name) @definition.field))
(function_call . (identifier) @call (function_arguments)? @arguments)
(conditional) @flow.branch
(for_expr) @flow.path
