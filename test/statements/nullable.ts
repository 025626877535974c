/**
 * Finds the columns of a statement's rows that may be null, from the parse tree of Postgres. A column may be null if its table allows null,
 * or if an outer join may find no row. A condition that is never true for null makes its columns not null. If the code does not know an
 * expression, the expression counts as nullable.
 */
import { isNode, listIn, nodeIn, nodesIn, numberIn, type TreeNode, type TreeValue } from './parse-tree.ts';

import { impliedNotNull, type Constraint } from './constraints.ts';

/** The facts about the database that the analysis needs. */
export interface Catalog {
  isNotNull(table: number, column: number): boolean;
  rulesOf(table: number): TableRules;
  functionOf(oid: number): { readonly name: string; readonly strict: boolean } | undefined;
}

export interface TableRules {
  readonly columns: ReadonlyMap<string, number>;
  readonly constraints: readonly Constraint[];
}

/** A query, the queries that contain it, and the facts that follow from its conditions. */
interface Scope {
  readonly query: TreeNode;
  readonly outer: Scope | undefined;
  /** Columns that are not null because of the conditions, as `table.column` of the range table. */
  readonly forced: ReadonlySet<string>;
  /**
   * Entries of the range table that have a row in every result row. A condition excludes the result rows for which an outer join found no
   * row.
   */
  readonly present: ReadonlySet<string>;
}

const command = { select: 1, update: 2, insert: 3 } as const;
const rangeKind = { table: 0, subquery: 1, join: 2, function: 3, values: 5, cte: 6, group: 9 } as const;
const onConflictDoNothing = 1;
const outerJoin = { inner: 0, full: 2, right: 3 } as const;
const sublink = { exists: 0, all: 1, any: 2, expression: 4, array: 6 } as const;

/** Strict functions that may return null for arguments that are not null. */
const mayAnswerNull =
  /^(?:json\w*_(?:object_field|array_element|extract_path)(?:_text)?|jsonb_path_query_first|array_(?:length|upper|lower|position|ndims)|regexp_match|regexp_substr|substring|to_reg\w+|current_setting|obj_description|pg_get_\w+|lag|lead|nth_value|txid_status)$/;
/** Functions that accept null arguments and never return null. */
const neverNull =
  /^(?:concat|concat_ws|format|num_nulls|num_nonnulls|jsonb?_build_(?:object|array)|quote_nullable|array_append|array_prepend|array_cat|array_remove|set_config|make_interval|pg_notify)$/;
/** Functions in FROM that return rows without null if their arguments contain no null. */
const fullRows =
  /^(?:unnest|generate_series|generate_subscripts|jsonb?_array_elements|jsonb?_object_keys|jsonb?_each|regexp_split_to_table|string_to_table|regexp_matches)$/;
const countingWindows = /^(?:row_number|rank|dense_rank|percent_rank|cume_dist|ntile|count)$/;
/** These aggregates return null only if there are no rows. A group always has rows. */
const collecting = /^(?:array_agg|jsonb?_agg|jsonb?_object_agg)$/;

/**
 * @param query the parse tree
 * @param nulls the numbers of parameters that were null in a run
 */
export function nullableColumns(query: TreeNode, catalog: Catalog, nulls: ReadonlySet<number>): boolean[] {
  const analysis = new Analysis(catalog, nulls);
  return analysis.columnsOf(query, undefined);
}

class Analysis {
  readonly #catalog: Catalog;
  readonly #nulls: ReadonlySet<number>;

  constructor(catalog: Catalog, nulls: ReadonlySet<number>) {
    this.#catalog = catalog;
    this.#nulls = nulls;
  }

  columnsOf(query: TreeNode, outer: Scope | undefined): boolean[] {
    const scope = this.#scopeOf(query, outer);
    return this.#resultsOf(query).map((_, index) => this.#isColumnNullable(scope, index));
  }

  #resultsOf(query: TreeNode): TreeNode[] {
    const list = numberIn(query, 'commandType') === command.select ? 'targetList' : 'returningList';
    return nodesIn(query, list).filter(({ fields }) => fields['resjunk'] !== 'true');
  }

  #scopeOf(query: TreeNode, outer: Scope | undefined): Scope {
    const forced = new Set<string>();
    const jointree = nodeIn(query, 'jointree');
    const conditions = jointree ? conditionsOf(jointree) : [];
    for (const condition of conditions) this.#force(condition, forced);
    for (const column of this.#implied(query, conditions, forced)) forced.add(column);
    return { query, outer, forced, present: new Set([...forced].map((column) => column.split('.', 1)[0] ?? '')) };
  }

  /** @returns columns that are not null because of the constraints of their tables, in rows that meet the conditions */
  #implied(query: TreeNode, conditions: readonly TreeValue[], forced: ReadonlySet<string>): string[] {
    const { isNull, texts } = factsIn(conditions);
    return nodesIn(query, 'rtable').flatMap((range, index) => {
      if (numberIn(range, 'rtekind') !== rangeKind.table) return [];
      const { columns, constraints } = this.#catalog.rulesOf(numberIn(range, 'relid'));
      const keyOf = (name: string) => `${index + 1}.${columns.get(name)}`;
      const names = [...columns.keys()];
      const implied = impliedNotNull(constraints, {
        notNull: new Set(names.filter((name) => forced.has(keyOf(name)))),
        isNull: new Set(names.filter((name) => isNull.has(keyOf(name)))),
        texts: new Map(names.flatMap((name) => (texts.has(keyOf(name)) ? [[name, texts.get(keyOf(name)) ?? '']] : []))),
      });
      return implied.map(keyOf);
    });
  }

  #isColumnNullable(scope: Scope, index: number): boolean {
    const operation = nodeIn(scope.query, 'setOperations');
    if (operation) {
      return leavesOf(operation).some((leaf) => {
        const subquery = nodeIn(rangeOf(scope, leaf), 'subquery');
        return !subquery || this.#isColumnNullable(this.#scopeOf(subquery, scope), index);
      });
    }
    const entry = this.#resultsOf(scope.query)[index];
    const returned = returnedColumn(scope.query, entry);
    const assigned = returned === undefined ? undefined : assignedTo(scope.query, returned);
    // RETURNING shows the new value of a written column. The conditions were tested with the old value.
    if (assigned && !this.#isNullable(scope, nodeIn(assigned, 'expr'))) return false;
    if (assigned) return this.#isNullable({ ...scope, forced: new Set() }, entry && nodeIn(entry, 'expr'));
    return this.#isNullable(scope, entry && nodeIn(entry, 'expr'));
  }

  #isNullable(scope: Scope, value: TreeValue): boolean {
    if (!isNode(value)) return true;
    const { tag, fields } = value;
    const inArgument = (field: string) => this.#isNullable(scope, fields[field]);
    const inAny = (values: readonly TreeValue[]) => values.some((one) => this.#isNullable(scope, one));
    const inAll = (values: readonly TreeValue[]) => values.every((one) => this.#isNullable(scope, one));
    switch (tag) {
      case 'CONST':
        return fields['constisnull'] === 'true';
      case 'PARAM':
        return numberIn(value, 'paramkind') === 0 && this.#nulls.has(numberIn(value, 'paramid'));
      case 'VAR':
        return this.#isVariableNullable(scope, value);
      case 'NULLTEST':
      case 'BOOLEANTEST':
      case 'DISTINCTEXPR':
      case 'ARRAYEXPR':
      case 'ARRAY':
      case 'ROWEXPR':
      case 'ROW':
      case 'SQLVALUEFUNCTION':
      case 'GROUPINGFUNC':
      case 'JSONCONSTRUCTOREXPR':
      case 'JSONISPREDICATE':
      case 'NEXTVALUEEXPR':
        return false;
      case 'COALESCEEXPR':
      case 'COALESCE':
      case 'MINMAXEXPR':
      case 'MINMAX':
        return inAll(listIn(value, 'args'));
      case 'RELABELTYPE':
      case 'COERCEVIAIO':
      case 'ARRAYCOERCEEXPR':
      case 'COLLATEEXPR':
      case 'COLLATE':
      case 'COERCETODOMAIN':
      case 'CONVERTROWTYPEEXPR':
        return inArgument('arg');
      case 'BOOLEXPR':
        return listIn(value, 'args').some((one) => this.#isNullable(besides(scope, value), one));
      case 'SCALARARRAYOPEXPR':
        return inAny(listIn(value, 'args'));
      case 'CASEEXPR':
      case 'CASE':
        return inArgument('defresult') || inAny(nodesIn(value, 'args').map((when) => when.fields['result']));
      case 'OPEXPR':
        return this.#isCallNullable(scope, numberIn(value, 'opfuncid'), listIn(value, 'args'));
      case 'FUNCEXPR':
        return this.#isCallNullable(scope, numberIn(value, 'funcid'), listIn(value, 'args'));
      case 'AGGREF':
        return this.#isAggregateNullable(scope, value);
      case 'WINDOWFUNC':
        return this.#isWindowNullable(scope, value);
      case 'SUBLINK':
        return this.#isSublinkNullable(scope, value);
      default:
        return true;
    }
  }

  #isCallNullable(scope: Scope, oid: number, args: readonly TreeValue[]): boolean {
    const called = this.#catalog.functionOf(oid);
    if (!called || mayAnswerNull.test(called.name)) return true;
    if (neverNull.test(called.name) || args.length === 0) return false;
    return !called.strict || args.some((arg) => this.#isNullable(scope, arg));
  }

  #isAggregateNullable(scope: Scope, aggregate: TreeNode): boolean {
    const { name = '' } = this.#catalog.functionOf(numberIn(aggregate, 'aggfnoid')) ?? {};
    if (name === 'count') return false;
    const ofGroup = listIn(scope.query, 'groupClause').length > 0 && listIn(scope.query, 'groupingSets').length === 0;
    if (!ofGroup || nodeIn(aggregate, 'aggfilter')) return true;
    return (
      !collecting.test(name) && nodesIn(aggregate, 'args').some((arg) => this.#isNullable(scope, nodeIn(arg, 'expr')))
    );
  }

  #isWindowNullable(scope: Scope, window: TreeNode): boolean {
    const { name = '' } = this.#catalog.functionOf(numberIn(window, 'winfnoid')) ?? {};
    if (countingWindows.test(name)) return false;
    if (mayAnswerNull.test(name) || nodeIn(window, 'aggfilter')) return true;
    return listIn(window, 'args').some((arg) => this.#isNullable(scope, arg));
  }

  #isSublinkNullable(scope: Scope, link: TreeNode): boolean {
    const kind = numberIn(link, 'subLinkType');
    if (kind === sublink.exists || kind === sublink.array) return false;
    const query = nodeIn(link, 'subselect');
    if (!query) return true;
    if (kind === sublink.any || kind === sublink.all) {
      return this.#isNullable(scope, link.fields['testexpr']) || this.columnsOf(query, scope).some(Boolean);
    }
    return kind !== sublink.expression || !hasOneRow(query) || this.columnsOf(query, scope).some(Boolean);
  }

  #isVariableNullable(from: Scope, variable: TreeNode): boolean {
    let scope: Scope | undefined = from;
    for (let level = numberIn(variable, 'varlevelsup'); level > 0; level--) scope = scope?.outer;
    if (!scope) return true;
    const [table, column] = [numberIn(variable, 'varno'), numberIn(variable, 'varattno')];
    if (numberIn(variable, 'varreturningtype') > 1) return true; // OLD or NEW may refer to a row that does not exist
    if (scope.forced.has(`${table}.${column}`)) return false;
    if (listIn(variable, 'varnullingrels').length > 1 && !scope.present.has(String(table))) return true;
    return column > 0 && this.#isRangeColumnNullable(scope, rangeOf(scope, table), column);
  }

  #isRangeColumnNullable(scope: Scope, range: TreeNode, column: number): boolean {
    switch (numberIn(range, 'rtekind')) {
      case rangeKind.table:
        return !this.#catalog.isNotNull(numberIn(range, 'relid'), column);
      case rangeKind.subquery: {
        const subquery = nodeIn(range, 'subquery');
        return !subquery || this.#isColumnNullable(this.#scopeOf(subquery, scope), column - 1);
      }
      case rangeKind.join:
        return this.#isNullable(scope, listIn(range, 'joinaliasvars')[column - 1]);
      case rangeKind.group:
        return (
          listIn(scope.query, 'groupingSets').length > 0 ||
          this.#isNullable(scope, listIn(range, 'groupexprs')[column - 1])
        );
      case rangeKind.values:
        return listIn(range, 'values_lists').some(
          (row) => !Array.isArray(row) || this.#isNullable(scope, (row as readonly TreeValue[])[column - 1]),
        );
      case rangeKind.function:
        return this.#isFunctionColumnNullable(scope, range, column);
      case rangeKind.cte:
        return this.#isCteColumnNullable(scope, range, column);
      default:
        return true;
    }
  }

  #isFunctionColumnNullable(scope: Scope, range: TreeNode, column: number): boolean {
    let before = 0;
    for (const part of nodesIn(range, 'functions')) {
      before += numberIn(part, 'funccolcount');
      if (column > before) continue;
      const call = nodeIn(part, 'funcexpr');
      if (call?.tag !== 'FUNCEXPR') return this.#isNullable(scope, call);
      const called = this.#catalog.functionOf(numberIn(call, 'funcid'));
      const args = listIn(call, 'args');
      return !called || !fullRows.test(called.name) || args.some((arg) => this.#isNullable(scope, arg));
    }
    return false; // the column that WITH ORDINALITY adds is never null
  }

  #isCteColumnNullable(scope: Scope, range: TreeNode, column: number): boolean {
    if (range.fields['self_reference'] === 'true') return false; // the first rows of the recursion decide whether the column may be null
    let owner: Scope | undefined = scope;
    for (let level = numberIn(range, 'ctelevelsup'); level > 0; level--) owner = owner?.outer;
    const cte =
      owner && nodesIn(owner.query, 'cteList').find(({ fields }) => fields['ctename'] === range.fields['ctename']);
    const query = cte && nodeIn(cte, 'ctequery');
    return !query || this.#isColumnNullable(this.#scopeOf(query, owner), column - 1);
  }

  /** Adds the columns that are not null if the condition is true. */
  #force(condition: TreeValue, forced: Set<string>): void {
    if (!isNode(condition)) return;
    const args = listIn(condition, 'args');
    switch (condition.tag) {
      case 'NULLTEST':
        if (numberIn(condition, 'nulltesttype') === 1) this.#forceArgument(condition.fields['arg'], forced);
        return;
      case 'BOOLEXPR':
        if (condition.fields['boolop'] === 'and') for (const one of args) this.#force(one, forced);
        else if (condition.fields['boolop'] === 'or') this.#forceByEach(args, forced);
        else this.#forceArgument(args[0], forced);
        return;
      case 'SCALARARRAYOPEXPR':
        this.#forceArgument(args[0], forced);
        return;
      default:
        this.#forceArgument(condition, forced);
    }
  }

  #forceByEach(args: readonly TreeValue[], forced: Set<string>): void {
    const [first = new Set<string>(), ...others] = args.map((one) => {
      const columns = new Set<string>();
      this.#force(one, columns);
      return columns;
    });
    for (const column of first) if (others.every((other) => other.has(column))) forced.add(column);
  }

  /** Adds each column that, if it is null, makes the whole expression null. */
  #forceArgument(value: TreeValue, forced: Set<string>): void {
    if (!isNode(value)) return;
    switch (value.tag) {
      case 'VAR':
        if (numberIn(value, 'varlevelsup') === 0)
          forced.add(`${numberIn(value, 'varno')}.${numberIn(value, 'varattno')}`);
        return;
      case 'RELABELTYPE':
      case 'COERCEVIAIO':
      case 'ARRAYCOERCEEXPR':
        return this.#forceArgument(value.fields['arg'], forced);
      case 'OPEXPR':
      case 'FUNCEXPR': {
        const oid = numberIn(value, value.tag === 'OPEXPR' ? 'opfuncid' : 'funcid');
        if (this.#catalog.functionOf(oid)?.strict) {
          for (const arg of listIn(value, 'args')) this.#forceArgument(arg, forced);
        }
        return;
      }
    }
  }
}

/** @returns the conditions that each row of the query meets: WHERE, and the conditions of inner joins */
function conditionsOf(part: TreeNode): TreeValue[] {
  if (part.tag === 'FROMEXPR') return [part.fields['quals'], ...nodesIn(part, 'fromlist').flatMap(conditionsOf)];
  if (part.tag !== 'JOINEXPR') return [];
  const [first, second] = [nodeIn(part, 'larg'), nodeIn(part, 'rarg')];
  const kind = numberIn(part, 'jointype');
  const ofFirst = first && kind !== outerJoin.right && kind !== outerJoin.full ? conditionsOf(first) : [];
  const ofSecond = second && (kind === outerJoin.inner || kind === outerJoin.right) ? conditionsOf(second) : [];
  return [...(kind === outerJoin.inner ? [part.fields['quals']] : []), ...ofFirst, ...ofSecond];
}

/** @returns the columns that are null, and the columns that equal a text, in rows that meet the conditions */
function factsIn(conditions: readonly TreeValue[]): { isNull: Set<string>; texts: Map<string, string> } {
  const [isNull, texts] = [new Set<string>(), new Map<string, string>()];
  const visit = (condition: TreeValue): void => {
    if (!isNode(condition)) return;
    const args = listIn(condition, 'args');
    if (condition.tag === 'BOOLEXPR' && condition.fields['boolop'] === 'and') return args.forEach(visit);
    if (condition.tag === 'NULLTEST' && numberIn(condition, 'nulltesttype') === 0) {
      const column = columnKey(condition.fields['arg']);
      if (column !== undefined) isNull.add(column);
    }
    if (condition.tag === 'OPEXPR' && numberIn(condition, 'opfuncid') === textEqual) {
      const [column, text] = [columnKey(args[0]), textOf(args[1])];
      if (column !== undefined && text !== undefined) texts.set(column, text);
    }
  };
  conditions.forEach(visit);
  return { isNull, texts };
}

/** The oid of the function that `=` calls for two texts. */
const textEqual = 67;

/** @returns the column as `table.column` of the range table */
function columnKey(value: TreeValue): string | undefined {
  if (!isNode(value) || value.tag !== 'VAR' || numberIn(value, 'varlevelsup') > 0) return undefined;
  return `${numberIn(value, 'varno')}.${numberIn(value, 'varattno')}`;
}

/** The bytes of a constant text begin with its length. */
const lengthBytes = 4;

function textOf(value: TreeValue): string | undefined {
  if (!isNode(value) || value.tag !== 'CONST') return undefined;
  const constant = value.fields['constvalue'];
  const bytes = Array.isArray(constant) ? (constant as readonly TreeValue[]).find(Array.isArray) : undefined;
  return bytes && Buffer.from(bytes.slice(lengthBytes).map(Number)).toString();
}

/** @returns the scope for the second part of `x IS NULL OR …` or `x IS NOT NULL AND …`. In this part, `x` counts as not null */
function besides(scope: Scope, expression: TreeNode): Scope {
  const { boolop } = expression.fields;
  const deciding = boolop === 'or' ? 0 : boolop === 'and' ? 1 : undefined;
  const columns = nodesIn(expression, 'args')
    .filter(({ tag, fields }) => tag === 'NULLTEST' && Number(fields['nulltesttype']) === deciding)
    .flatMap(({ fields }) => columnKey(fields['arg']) ?? []);
  return { ...scope, forced: new Set([...scope.forced, ...columns]) };
}

function rangeOf({ query }: Scope, index: number): TreeNode {
  const range = nodesIn(query, 'rtable')[index - 1];
  if (!range) throw new Error(`The query has no range ${index}`);
  return range;
}

/** @returns the queries that a UNION combines, as indexes in the range table */
function leavesOf(operation: TreeNode): number[] {
  if (operation.tag === 'RANGETBLREF') return [numberIn(operation, 'rtindex')];
  return ['larg', 'rarg'].flatMap((side) => {
    const part = nodeIn(operation, side);
    return part ? leavesOf(part) : [];
  });
}

/** @returns the number of the column, if the entry of RETURNING is only a column of the written table; undefined for other expressions */
function returnedColumn(query: TreeNode, entry: TreeNode | undefined): number | undefined {
  const written = numberIn(query, 'resultRelation');
  const variable = entry && nodeIn(entry, 'expr');
  if (written === 0 || variable?.tag !== 'VAR' || numberIn(variable, 'varno') !== written) return undefined;
  return numberIn(variable, 'varattno');
}

/**
 * @returns the entry with the value that an UPDATE or INSERT writes into the column; undefined if there is no such entry, or if ON CONFLICT
 * may update rows
 */
function assignedTo(query: TreeNode, column: number): TreeNode | undefined {
  const kind = numberIn(query, 'commandType');
  const conflict = nodeIn(query, 'onConflict');
  const updates = conflict !== undefined && numberIn(conflict, 'action') !== onConflictDoNothing;
  if (kind !== command.update && (kind !== command.insert || updates)) return undefined;
  return nodesIn(query, 'targetList').find((entry) => numberIn(entry, 'resno') === column);
}

/** Whether the query always has exactly one row: an aggregate without groups, or a query without FROM. */
function hasOneRow(query: TreeNode): boolean {
  const jointree = nodeIn(query, 'jointree');
  const filtered = ['havingQual', 'limitOffset', 'limitCount', 'setOperations'].some((field) => nodeIn(query, field));
  if (filtered || listIn(query, 'groupClause').length > 0) return false;
  const isBare = jointree !== undefined && listIn(jointree, 'fromlist').length === 0 && !nodeIn(jointree, 'quals');
  return query.fields['hasAggs'] === 'true' || isBare;
}
