/** Generates the TypeScript types of the contract (`generated/types.ts`), without descriptions for people. */
import openapiTypescript, { astToString, type OpenAPI3, type SchemaObject } from 'openapi-typescript';
import ts from 'typescript';
import { methods, type ContractDocument, type OperationObject } from './openapi.ts';

/** The response with the envelope of all errors. */
const errorResponse = 'Otherwise';

/**
 * @param document the published document, which is not changed
 * @returns the types of operations, records and events. Each operation has its successful responses, and one response for all errors.
 * Enumerations that may grow (VER-4) have the values that this version knows.
 */
export async function typesOf(document: ContractDocument): Promise<string> {
  const parsed: OpenAPI3 = JSON.parse(JSON.stringify(withOneError(document)));
  const statements = await openapiTypescript(parsed, { transform: knownValues });
  const types = astToString(statements.map(withoutEmptyProperties), { formatOptions: { removeComments: true } });
  return `${types}${operationsOfKeys(document)}`;
}

/** A handler of one of these operations must not expect that a person calls. */
function operationsOfKeys({ paths }: ContractDocument): string {
  const names = Object.values(paths).flatMap((item) =>
    methods.flatMap((method) => (item[method]?.['x-scope'] === undefined ? [] : [`'${item[method].operationId}'`])),
  );
  return `export type KeyOperationId = ${names.length === 0 ? 'never' : names.join(' | ')};\n`;
}

function withOneError(document: ContractDocument): ContractDocument {
  const { [errorResponse]: envelope } = document.components.responses;
  if (!envelope) throw new Error(`The contract has no response ${errorResponse}.`);
  const paths = structuredClone(document.paths);
  for (const item of Object.values(paths)) for (const method of methods) if (item[method]) keepSuccess(item[method]);
  return { ...document, paths, components: { ...document.components, responses: { [errorResponse]: envelope } } };
}

function keepSuccess(operation: OperationObject): void {
  const successful = Object.entries(operation.responses).filter(([status]) => /^[23]/.test(status));
  operation.responses = {
    ...Object.fromEntries(successful),
    default: { $ref: `#/components/responses/${errorResponse}` },
  };
}

function knownValues(schema: SchemaObject): ts.TypeNode | undefined {
  const values: unknown = (schema as { 'x-extensible-enum'?: unknown })['x-extensible-enum'];
  if (!Array.isArray(values)) return undefined;
  const { factory } = ts;
  return factory.createUnionTypeNode(
    values.map((value) => factory.createLiteralTypeNode(factory.createStringLiteral(String(value)))),
  );
}

/** Removes properties without information: `get?: never`, and `headers` of a response without declared headers. */
function withoutEmptyProperties<T extends ts.Node>(statement: T): T {
  const result = ts.transform(statement, [
    (context) => (root) => {
      const visit = (node: ts.Node): ts.Node | undefined =>
        isEmptyProperty(node) ? undefined : ts.visitEachChild(node, visit, context);
      return ts.visitEachChild(root, visit, context);
    },
  ]);
  return result.transformed[0] ?? statement;
}

function isEmptyProperty(node: ts.Node): boolean {
  if (!ts.isPropertySignature(node) || !node.type) return false;
  const isAbsent = node.questionToken !== undefined && node.type.kind === ts.SyntaxKind.NeverKeyword;
  return isAbsent || isUndeclared(node.type);
}

/** openapi-typescript writes `{ [name: string]: unknown }` for the headers of a response. Records of the contract have `[key: string]`. */
function isUndeclared(type: ts.TypeNode): boolean {
  if (!ts.isTypeLiteralNode(type)) return false;
  const [member, ...others] = type.members;
  if (!member || others.length > 0 || !ts.isIndexSignatureDeclaration(member)) return false;
  const [parameter] = member.parameters;
  return parameter !== undefined && ts.isIdentifier(parameter.name) && parameter.name.text === 'name';
}
