/** Makes a request's body as large as its schema and the size limit allow. */
import { isObject, type JsonObject } from '../../contract/openapi.ts';
import { propertiesOf, schemaAt } from '../../test/proofs/fuzz/requests/values.ts';
import { isRecord, type Json } from '../../test/proofs/fuzz/requests/step.ts';

/** This is less than the default of `BODY_LIMIT_BYTES`, because a body also contains names and brackets. */
const mostBytes = 900_000;
/** The length of a list without a maximum. */
const manyItems = 1_000;
/** The length of a text without a maximum. */
const manyCharacters = 20_000;

interface Room {
  bytes: number;
}

/** @param filler repeated to lengthen texts */
export function largestBody(schema: JsonObject, value: Json, filler: string): Json {
  return grown(schema, value, filler, { bytes: mostBytes });
}

function grown(unresolved: JsonObject, value: Json, filler: string, room: Room): Json {
  const schema = chosen(schemaAt(unresolved), value);
  if (typeof value === 'string') return longText(schema, value, filler, room);
  if (Array.isArray(value)) return longList(schema, value as readonly Json[], filler, room);
  if (!isRecord(value)) return value;
  const properties = propertiesOf(schema);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      const of = properties[name];
      return [name, of ? grown(of, part, filler, room) : part];
    }),
  );
}

/** If there are alternatives (`oneOf`), returns the schema with the value's `kind`. */
function chosen(schema: JsonObject, value: Json): JsonObject {
  const { oneOf } = schema;
  if (!Array.isArray(oneOf)) return schema;
  const kind = isRecord(value) ? value['kind'] : undefined;
  const alternatives = oneOf.filter(isObject).map(schemaAt);
  return alternatives.find((each) => propertiesOf(each)['kind']?.['const'] === kind) ?? alternatives[0] ?? schema;
}

function longText(schema: JsonObject, value: string, filler: string, room: Room): string {
  const isFixed = ['format', 'enum', 'const', 'pattern'].some((word) => word in schema) || value.includes('{{');
  if (isFixed) return value;
  const most = typeof schema['maxLength'] === 'number' ? schema['maxLength'] : manyCharacters;
  const filled = Math.min(
    (most - Array.from(value).length) / Array.from(filler).length,
    room.bytes / Buffer.byteLength(filler),
  );
  if (filled < 1) return value;
  const text = value + filler.repeat(Math.floor(filled));
  room.bytes -= Buffer.byteLength(text);
  return text;
}

function longList(schema: JsonObject, items: readonly Json[], filler: string, room: Room): Json[] {
  const of = schema['items'];
  const [first] = items;
  if (!isObject(of) || first === undefined) return [...items];
  const most = typeof schema['maxItems'] === 'number' ? schema['maxItems'] : manyItems;
  const list: Json[] = items.map((item) => grown(of, item, filler, room));
  if (schema['uniqueItems'] === true) return list;
  while (list.length < most && room.bytes > 0) {
    const item = grown(of, first, filler, room);
    room.bytes -= 40;
    list.push(item);
  }
  return list;
}
