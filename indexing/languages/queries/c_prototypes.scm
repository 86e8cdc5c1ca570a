; Declarations of functions, outside of bodies: inside, a variable looks the same.
(translation_unit
  (declaration
    declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)) @definition.function)
(translation_unit
  (declaration
    declarator: (pointer_declarator
      declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)
      )) @definition.function)
(preproc_ifdef
  (declaration
    declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)) @definition.function)
(preproc_ifdef
  (declaration
    declarator: (pointer_declarator
      declarator: (function_declarator declarator: (identifier) @name parameters: (_) @parameters)
      )) @definition.function)
(linkage_specification
  body: (declaration_list
    (declaration
      declarator: (function_declarator
        declarator: (identifier) @name parameters: (_) @parameters)) @definition.function))
