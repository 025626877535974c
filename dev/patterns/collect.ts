/** Finds the regular expressions that read text from outside: in the product's code, and in the contract, whose patterns Ajv compiles. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

export interface Pattern {
  source: string;
  flags: string;
  /** Such as `api/app.ts:12`. */
  place: string;
}

/** Code that builds a regular expression at run time, so its cost cannot be judged in advance. */
export interface RuntimePattern {
  place: string;
  code: string;
}

export interface Found {
  patterns: Pattern[];
  runtimePatterns: RuntimePattern[];
}

/** @param file from the project's directory @param text TypeScript or JavaScript */
export function patternsIn(file: string, text: string): Found {
  const found: Found = { patterns: [], runtimePatterns: [] };
  const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const constants = constantsOf(parsed);
  const visit = (node: ts.Node): void => {
    const place = `${file}:${parsed.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
    if (ts.isRegularExpressionLiteral(node)) found.patterns.push({ ...partsOf(node.text), place });
    if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp') {
      const [source, flags] = (node.arguments ?? []).map((argument) => textOf(argument, constants));
      const isWritten = source !== undefined && (node.arguments?.length === 1 || flags !== undefined);
      if (isWritten) found.patterns.push({ source, flags: flags ?? '', place });
      else found.runtimePatterns.push({ place, code: node.getText() });
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}

/** @param literal such as `/a+/g` */
function partsOf(literal: string): Pick<Pattern, 'source' | 'flags'> {
  const end = literal.lastIndexOf('/');
  return { source: literal.slice(1, end), flags: literal.slice(end + 1) };
}

type Constants = ReadonlyMap<string, ts.Expression>;

/** @returns the values of constants outside functions */
function constantsOf(file: ts.SourceFile): Constants {
  const declarations = file.statements
    .filter((statement) => ts.isVariableStatement(statement))
    .flatMap(({ declarationList }) => (declarationList.flags & ts.NodeFlags.Const ? declarationList.declarations : []));
  return new Map(
    declarations.flatMap(({ name, initializer }) =>
      ts.isIdentifier(name) && initializer ? [[name.text, initializer] as const] : [],
    ),
  );
}

/** @returns the text with constants of the file inserted; undefined if it depends on values at run time */
function textOf(node: ts.Expression, constants: Constants): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isIdentifier(node)) {
    const value = constants.get(node.text);
    return value && textOf(value, constants);
  }
  if (ts.isCallExpression(node)) return joinedTextOf(node, constants);
  const isRaw = ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'String.raw';
  const template = isRaw ? node.template : node;
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.rawText;
  if (!ts.isTemplateExpression(template)) return undefined;
  const written = ({ text, rawText = text }: ts.TemplateLiteralLikeNode) => (isRaw ? rawText : text);
  const parts = template.templateSpans.map(({ expression, literal }) => {
    const part = textOf(expression, constants);
    return part === undefined ? undefined : part + written(literal);
  });
  return parts.includes(undefined) ? undefined : written(template.head) + parts.join('');
}

/** @returns the string of `[…].join('')` */
function joinedTextOf({ expression, arguments: given }: ts.CallExpression, constants: Constants): string | undefined {
  const isJoin = ts.isPropertyAccessExpression(expression) && expression.name.text === 'join' && given.length === 1;
  if (!isJoin || !ts.isArrayLiteralExpression(expression.expression)) return undefined;
  const [between] = given.map((argument) => textOf(argument, constants));
  const parts = expression.expression.elements.map((element) => textOf(element, constants));
  return between === undefined || parts.includes(undefined) ? undefined : parts.join(between);
}

/** Ajv compiles the contract's patterns with this flag. */
const flagsOfAjv = 'u';

/** @param document the bundled contract @returns the patterns, and the names of the contract's formats */
export function patternsOfContract(document: unknown): { patterns: Pattern[]; formats: Set<string> } {
  const patterns = new Map<string, Pattern>();
  const formats = new Set<string>();
  const visit = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      if (key === 'format' && typeof part === 'string') formats.add(part);
      const sources = key === 'pattern' ? [part] : key === 'patternProperties' ? Object.keys(part as object) : [];
      for (const source of sources)
        if (typeof source === 'string') patterns.set(source, { source, flags: flagsOfAjv, place: `contract ${at}` });
      visit(part, `${at}/${key}`);
    }
  };
  visit(document, '#');
  return { patterns: [...patterns.values()], formats };
}

/** @returns patterns of these formats, and the patterns that several formats share */
export function patternsOfFormats(formats: ReadonlySet<string>): Pattern[] {
  const file = 'node_modules/ajv-formats/dist/formats.js';
  const text = readFileSync(new URL(import.meta.resolve('ajv-formats/dist/formats.js')), 'utf8');
  const lines = text.split('\n');
  /** Each format has its own line in the table. */
  const isOfAnotherFormat = ({ place }: Pattern) => {
    const line = lines[Number(place.split(':')[1]) - 1] ?? '';
    const name = /^ {4}"?([\w-]+)"?: /.exec(line)?.[1];
    return name !== undefined && !formats.has(name);
  };
  return patternsIn(file, text).patterns.filter((pattern) => !isOfAnotherFormat(pattern));
}

/** @param files the files of the product */
export function patternsOfProduct(directory: string, files: readonly string[]): Found {
  const all = files.map((file) => patternsIn(file, readFileSync(path.join(directory, file), 'utf8')));
  const contract = JSON.parse(readFileSync(path.join(directory, 'contract/generated/openapi.json'), 'utf8')) as unknown;
  const { patterns, formats } = patternsOfContract(contract);
  return {
    patterns: [...all.flatMap((one) => one.patterns), ...patterns, ...patternsOfFormats(formats)],
    runtimePatterns: all.flatMap(({ runtimePatterns }) => runtimePatterns),
  };
}
