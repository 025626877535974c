/** Reads the row that the code declares for a statement: the type argument of the call, or the type that the compiler infers. */
import path from 'node:path';
import ts from 'typescript';
import { projectDirectory } from '../../dev/project.ts';
import type { Position, RecordedStatement } from './records.ts';

/** The kind of value of a declared property. `unknown` accepts every kind. */
export type DeclaredKind =
  | 'string'
  | 'number'
  | 'bigint'
  | 'boolean'
  | 'Date'
  | 'Buffer'
  | 'object'
  | 'unknown'
  | { readonly arrayOf: readonly DeclaredKind[] };

export interface DeclaredProperty {
  readonly name: string;
  readonly kinds: readonly DeclaredKind[];
  readonly nullable: boolean;
  /** Whether the statement may omit the column. */
  readonly optional: boolean;
  readonly printed: string;
}

export interface DeclaredRow {
  readonly at: Position;
  readonly properties: readonly DeclaredProperty[];
  /** The type of all columns without a declared name, as in `Record<string, …>`. */
  readonly others: Omit<DeclaredProperty, 'name' | 'optional'> | undefined;
}

export interface DeclaredRows {
  /** @returns undefined if the call declares no columns: it only counts rows, or its row type is `unknown` or `object` */
  rowOf(statement: RecordedStatement): DeclaredRow | undefined;
  /** Returns every call that declares a row, also calls that no run has recorded. */
  all(): DeclaredRow[];
}

/** The compiler finds no call at the recorded position, because the file changed after the recording. */
export class CallMissing extends Error {}

/** @param files paths from the project's directory @param folders the folders with the calls that `all` returns */
export function readDeclaredRows(files: readonly string[], folders: readonly string[]): DeclaredRows {
  const config = ts.readConfigFile(path.join(projectDirectory, 'tsconfig.json'), (file) => ts.sys.readFile(file));
  const { options } = ts.parseJsonConfigFileContent(
    config.config,
    { ...ts.sys, readDirectory: () => [] },
    projectDirectory,
  );
  const roots = files.map((file) => path.join(projectDirectory, file));
  const program = ts.createProgram(roots, { ...options, incremental: false, noEmit: true });
  return new Reader(program, folders);
}

const methods = new Set(['rows', 'one', 'query']);
const functions = new Set(['prepared', 'preparedRows']);

class Reader implements DeclaredRows {
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;
  readonly #folders: readonly string[];
  readonly #prepared = new Map<string, ts.CallExpression>();
  readonly #rows = new Map<ts.CallExpression, DeclaredRow | undefined>();

  constructor(program: ts.Program, folders: readonly string[]) {
    this.#program = program;
    this.#checker = program.getTypeChecker();
    this.#folders = folders;
    for (const call of this.#calls()) {
      const [name] = call.arguments;
      if (functions.has(calledName(call)) && name && ts.isStringLiteralLike(name)) this.#prepared.set(name.text, call);
    }
  }

  rowOf({ name, calls }: RecordedStatement): DeclaredRow | undefined {
    const definition = name === undefined ? undefined : this.#prepared.get(name);
    if (definition) return this.#rowOfCall(definition);
    const [innermost, ...callers] = calls;
    if (!innermost) return undefined;
    const call = this.#callAt(innermost);
    const type = this.#typeOfRow(call);
    if (!type || !this.#isGeneric(type)) return this.#rowOfCall(call);
    return this.#rowOfCaller(call, type, callers);
  }

  all(): DeclaredRow[] {
    return this.#calls().flatMap((call) => {
      const name = calledName(call);
      if (!methods.has(name) && !functions.has(name)) return [];
      const type = this.#typeOfRow(call);
      const row = type && !this.#isGeneric(type) ? this.#rowOfCall(call) : undefined;
      return row ? [row] : [];
    });
  }

  #calls(): ts.CallExpression[] {
    const calls: ts.CallExpression[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node)) calls.push(node);
      ts.forEachChild(node, visit);
    };
    for (const file of this.#program.getSourceFiles()) {
      if (this.#folders.some((folder) => relative(file.fileName).startsWith(`${folder}/`))) visit(file);
    }
    return calls;
  }

  #rowOfCall(call: ts.CallExpression): DeclaredRow | undefined {
    if (!this.#rows.has(call)) {
      const type = this.#typeOfRow(call);
      this.#rows.set(call, type && this.#declared(call, type));
    }
    return this.#rows.get(call);
  }

  /**
   * Finds the row type of a call in a generic helper. The first caller that is not generic declares the row type.
   */
  #rowOfCaller(inner: ts.CallExpression, type: ts.Type, callers: readonly Position[]): DeclaredRow | undefined {
    let parts = type.isIntersection() ? type.types : [type];
    for (const position of callers) {
      const caller = this.#callAt(position);
      const signature = this.#checker.getResolvedSignature(caller);
      const parameters = signature?.getDeclaration()?.typeParameters ?? [];
      const args = signature ? typeArgumentsOf(this.#checker, signature) : [];
      const types = new Map(parameters.map((one, index) => [this.#checker.getTypeAtLocation(one), args[index]]));
      parts = parts.map((part) => types.get(part) ?? part);
      if (parts.every((part) => !this.#isGeneric(part))) return this.#declared(caller, ...parts);
    }
    throw new CallMissing(`${place(positionOf(inner))}: no caller names the row of this generic call`);
  }

  #isGeneric(type: ts.Type): boolean {
    return type.isIntersection() ? type.types.some((part) => this.#isGeneric(part)) : type.isTypeParameter();
  }

  #callAt({ file, line, column }: Position): ts.CallExpression {
    const source = this.#program.getSourceFile(path.join(projectDirectory, file));
    const at = source && offsetOf(source, line, column);
    let found: ts.CallExpression | undefined;
    const visit = (node: ts.Node): void => {
      if (!source || at === undefined || node.getStart(source) > at || node.end <= at) return;
      if (ts.isCallExpression(node) && nameOf(node.expression).getStart(source) === at) found = node;
      // The stack frame of an async function has the position of its `await`.
      if (ts.isAwaitExpression(node) && node.getStart(source) === at && ts.isCallExpression(node.expression))
        found = node.expression;
      ts.forEachChild(node, visit);
    };
    if (source) visit(source);
    if (!found) throw new CallMissing(`${place({ file, line, column })}: there is no call`);
    return found;
  }

  /** @returns the type of one row in the result of the call; undefined if the call declares none */
  #typeOfRow(call: ts.CallExpression): ts.Type | undefined {
    const checker = this.#checker;
    if (calledName(call) === 'prepared') {
      const [row] = call.typeArguments ?? [];
      return row ? checker.getTypeFromTypeNode(row) : undefined;
    }
    const answer = checker.getAwaitedType(checker.getTypeAtLocation(call));
    if (!answer) return undefined;
    const type = answer.flags & ts.TypeFlags.Any ? this.#assertedType(call) : answer;
    if (!type) return undefined;
    const rows = checker.getPropertyOfType(type, 'rows');
    const ofResult = rows && checker.getTypeOfSymbol(rows);
    return elementOf(checker, ofResult ?? type) ?? checker.getNonNullableType(ofResult ?? type);
  }

  /** Returns the type that `as` or a variable declares for a result of the type `any`. */
  #assertedType(call: ts.CallExpression): ts.Type | undefined {
    let node: ts.Node = call;
    while (ts.isAwaitExpression(node.parent) || ts.isParenthesizedExpression(node.parent)) node = node.parent;
    const { parent } = node;
    if (ts.isAsExpression(parent) || (ts.isVariableDeclaration(parent) && parent.type)) {
      return parent.type && this.#checker.getTypeFromTypeNode(parent.type);
    }
    return undefined;
  }

  #declared(call: ts.CallExpression, ...types: readonly ts.Type[]): DeclaredRow | undefined {
    const variants = types.flatMap((type) => (type.isUnion() ? type.types : [type]));
    const nothing = ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never | ts.TypeFlags.NonPrimitive;
    const objects = variants.filter(({ flags }) => flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection));
    if (variants.some(({ flags }) => flags & nothing) || objects.length === 0) return undefined;
    const symbols = Map.groupBy(
      objects.flatMap((type) => this.#checker.getPropertiesOfType(type)),
      ({ name }) => name,
    );
    const index = objects.map((type) => this.#checker.getIndexTypeOfType(type, ts.IndexKind.String)).find(Boolean);
    if (symbols.size === 0 && !index) return undefined;
    const isVariant = types.some((type) => type.isUnion());
    const properties = [...symbols].map(([name, declared]): DeclaredProperty => {
      const isOptional = declared.some(({ flags }) => flags & ts.SymbolFlags.Optional);
      const missing = isVariant && declared.length < objects.length;
      const parts = declared.map((symbol) => this.#checker.getTypeOfSymbol(symbol));
      const property = this.#property(parts);
      // If a variant of the union lacks this property, the column may have any value in this variant, even null.
      return { name, ...property, optional: isOptional || missing, nullable: property.nullable || missing };
    });
    return { at: positionOf(call), properties, others: index && this.#property([index]) };
  }

  #property(types: readonly ts.Type[]): Omit<DeclaredProperty, 'name' | 'optional'> {
    const parts = types.flatMap((type) => (type.isUnion() ? type.types : [type]));
    const printed = types.map((type) => this.#checker.typeToString(type));
    return {
      kinds: parts.filter(({ flags }) => !(flags & empty)).map((part) => this.#kindOf(part)),
      nullable: parts.some(({ flags }) => flags & (ts.TypeFlags.Null | ts.TypeFlags.Any | ts.TypeFlags.Unknown)),
      printed: printed.join(' | '),
    };
  }

  #kindOf(type: ts.Type): DeclaredKind {
    const { flags } = type;
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return 'unknown';
    if (flags & ts.TypeFlags.StringLike) return 'string';
    if (flags & ts.TypeFlags.NumberLike) return 'number';
    if (flags & ts.TypeFlags.BigIntLike) return 'bigint';
    if (flags & ts.TypeFlags.BooleanLike) return 'boolean';
    if (type.isIntersection()) {
      const kinds = type.types.map((part) => this.#kindOf(part));
      return kinds.find((kind) => kind !== 'object') ?? 'object';
    }
    const element = elementOf(this.#checker, type);
    if (element) return { arrayOf: this.#property([element]).kinds };
    const name = type.getSymbol()?.name;
    if (name === 'Date') return 'Date';
    return name === 'Buffer' || name === 'Uint8Array' ? 'Buffer' : 'object';
  }
}

const empty = ts.TypeFlags.Null | ts.TypeFlags.Undefined;

function elementOf(checker: ts.TypeChecker, type: ts.Type): ts.Type | undefined {
  if (!checker.isArrayLikeType(type)) return undefined;
  return checker.getIndexTypeOfType(type, ts.IndexKind.Number);
}

/** Returns the type arguments of a generic call. Only the compiler's internal interface has them. */
function typeArgumentsOf(checker: ts.TypeChecker, signature: ts.Signature): readonly ts.Type[] {
  type Internal = { getTypeArgumentsForResolvedSignature(signature: ts.Signature): readonly ts.Type[] | undefined };
  return (checker as unknown as Internal).getTypeArgumentsForResolvedSignature(signature) ?? [];
}

function offsetOf(source: ts.SourceFile, line: number, column: number): number | undefined {
  const start = source.getLineStarts()[line - 1];
  return start === undefined ? undefined : start + column - 1;
}

const nameOf = (called: ts.Expression): ts.Node => (ts.isPropertyAccessExpression(called) ? called.name : called);

const calledName = ({ expression }: ts.CallExpression): string => nameOf(expression).getText();

const relative = (file: string): string => path.relative(projectDirectory, file).replaceAll(path.sep, '/');

function positionOf(call: ts.CallExpression): Position {
  const source = call.getSourceFile();
  const { line, character } = source.getLineAndCharacterOfPosition(nameOf(call.expression).getStart(source));
  return { file: relative(source.fileName), line: line + 1, column: character + 1 };
}

export const place = ({ file, line, column }: Position): string => `${file}:${line}:${column}`;
