/**
 * The nodes of Postgres' grammar that a query may have, each with the fields it may have. `field:Node` is a field that
 * holds this very node, as libpg_query writes it where the grammar leaves no choice; other fields name their nodes.
 * What is not here is refused: a later version of the grammar brings nothing in by itself.
 */
const NODES: Readonly<Record<string, string>> = {
  SelectStmt: `targetList distinctClause fromClause whereClause groupClause groupDistinct havingClause windowClause
    valuesLists sortClause limitOffset limitCount limitOption op all larg:SelectStmt rarg:SelectStmt
    withClause:WithClause`,
  WithClause: 'ctes recursive',
  CommonTableExpr: 'ctename aliascolnames ctematerialized ctequery',
  ResTarget: 'name val',
  RangeVar: 'schemaname relname inh relpersistence alias:Alias',
  RangeSubselect: 'lateral subquery alias:Alias',
  RangeFunction: 'lateral ordinality functions alias:Alias',
  JoinExpr: 'jointype isNatural larg rarg usingClause join_using_alias:Alias quals alias:Alias',
  Alias: 'aliasname colnames',
  SortBy: 'node sortby_dir sortby_nulls',
  WindowDef: 'name refname partitionClause orderClause frameOptions startOffset endOffset',
  GroupingSet: 'kind content',
  GroupingFunc: 'args',
  ColumnRef: 'fields',
  A_Star: '',
  A_Const: 'ival:Integer fval:Float boolval:Boolean sval:String bsval:BitString isnull',
  A_Expr: 'kind name lexpr rexpr',
  A_ArrayExpr: 'elements list_start list_end',
  A_Indirection: 'arg indirection',
  A_Indices: 'is_slice lidx uidx',
  RowExpr: 'args row_format',
  BoolExpr: 'boolop args',
  NullTest: 'arg nulltesttype',
  BooleanTest: 'arg booltesttype',
  CaseExpr: 'arg args defresult',
  CaseWhen: 'expr result',
  CoalesceExpr: 'args',
  MinMaxExpr: 'op args',
  SubLink: 'subLinkType testexpr operName subselect',
  FuncCall: `funcname args agg_order agg_filter agg_within_group agg_star agg_distinct func_variadic funcformat
    over:WindowDef`,
  NamedArgExpr: 'name arg argnumber',
  SQLValueFunction: 'op typmod',
  TypeCast: 'arg typeName:TypeName',
  TypeName: 'names typmods typemod arrayBounds',
  CollateClause: 'arg collname',
  List: 'items',
  Integer: 'ival',
  Float: 'fval',
  Boolean: 'boolval',
  String: 'sval',
  BitString: 'bsval',
};

/** Each node's fields, with the node that a field holds where that is fixed. */
export const ALLOWED_NODES: ReadonlyMap<string, ReadonlyMap<string, string | undefined>> = new Map(
  Object.entries(NODES).map(([node, fields]) => [
    node,
    new Map(
      fields
        .split(/\s+/)
        .filter((field) => field !== '')
        .map((field) => field.split(':') as [string, string | undefined]),
    ),
  ]),
);

/** How people call what is refused. */
export const PLAIN_NAMES: Readonly<Record<string, string>> = {
  'SelectStmt.intoClause': 'SELECT INTO',
  'SelectStmt.lockingClause': 'FOR UPDATE or FOR SHARE',
  InsertStmt: 'INSERT',
  UpdateStmt: 'UPDATE',
  DeleteStmt: 'DELETE',
  MergeStmt: 'MERGE',
  ParamRef: 'a parameter such as $1',
  RangeTableSample: 'TABLESAMPLE',
};
