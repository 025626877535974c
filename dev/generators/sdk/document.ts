/** Changes the contract into the form from which the SDK is generated (SDK-1). */
import { isObject, type ContractDocument, type JsonObject } from '../../../contract/openapi.ts';

/** An enumeration that may grow, with the name of its type and the values of this version. */
export interface OpenValues {
  readonly name: string;
  readonly values: readonly string[];
}

const prefix = '#/components/schemas/';

/**
 * @param document the published document; it stays unchanged
 * @returns a copy in which each enumeration that may grow is a schema with a name. `Error` becomes `ErrorEnvelope`, because JavaScript has
 * its own `Error`
 * @throws Error if the name of a schema is no identifier, or if two different enumerations get one name
 */
export function sdkDocument(document: ContractDocument): { document: ContractDocument; open: OpenValues[] } {
  const copy = structuredClone(document);
  const schemas: Record<string, JsonObject> = copy.components.schemas;
  for (const name of Object.keys(schemas))
    if (!/^[A-Z]\w*$/.test(name))
      throw new Error(
        `The schema ${name} is no name of a type: give one of the two schemas with this name another one.`,
      );
  for (const [name, schema] of Object.entries(schemas)) hoist(schemas, name, schema);
  renameError(copy, schemas);
  const open = Object.entries(schemas).flatMap(([name, schema]) => {
    const values = schema['x-extensible-enum'];
    return Array.isArray(values) ? [{ name, values: values.map(String) }] : [];
  });
  return { document: copy, open };
}

/** Gives the enumerations below a schema names: `status` of `Member` becomes `MemberStatus`. */
function hoist(schemas: Record<string, JsonObject>, path: string, part: JsonObject): void {
  for (const [key, child] of Object.entries(part)) {
    if (!isObject(child) || key === 'examples' || key === 'example') continue;
    const childPath = key === 'properties' || key === 'items' || Array.isArray(part) ? path : path + pascal(key);
    if (!Array.isArray(child['x-extensible-enum'])) {
      hoist(schemas, childPath, child);
      continue;
    }
    const known = schemas[childPath];
    if (known && JSON.stringify(known['x-extensible-enum']) !== JSON.stringify(child['x-extensible-enum']))
      throw new Error(`The enumeration ${key} of ${path} needs a name of its own: ${childPath} exists already.`);
    schemas[childPath] = child;
    part[key] = { $ref: `${prefix}${childPath}` };
  }
}

const pascal = (key: string): string =>
  key.replaceAll(/(?:^|[_-])([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());

function renameError(document: ContractDocument, schemas: Record<string, JsonObject>): void {
  const { Error: envelope } = schemas;
  if (!envelope) throw new Error('The contract has no schema Error.');
  delete schemas['Error'];
  schemas['ErrorEnvelope'] = envelope;
  const visit = (part: JsonObject): void => {
    if (part['$ref'] === `${prefix}Error`) part['$ref'] = `${prefix}ErrorEnvelope`;
    for (const child of Object.values(part)) if (isObject(child)) visit(child);
  };
  visit(document);
}
