(document
  (block_node (block_mapping (block_mapping_pair key: (flow_node (plain_scalar) @name)) @definition.document)))
(document
  (block_node
    (block_mapping (block_mapping_pair key: (flow_node (double_quote_scalar) @name)) @definition.document)))
