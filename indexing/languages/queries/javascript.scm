; JavaScript only: class names are plain identifiers and parameters have no wrapper.
(class_declaration name: (identifier) @name body: (_) @body) @definition.class
(class_heritage (_) @base)
(field_definition
  property: [(property_identifier) (private_property_identifier)] @name) @definition.field
(field_definition
  property: [(property_identifier) (private_property_identifier)] @name
  value: (arrow_function parameters: (_)? @parameters body: (_) @body)) @definition.method
(field_definition
  property: (_) @bind.field value: (new_expression constructor: (_) @bind.call))
(formal_parameters
  [(identifier) @local (assignment_pattern left: (identifier) @local)])
(import_statement
  (import_clause
    (named_imports
      (import_specifier name: "default" @import.name alias: (identifier) @import.alias)))
  source: (string (string_fragment) @import.from))
