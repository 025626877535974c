/** Generates docs/reference/events.md from the contract: a page about every event that the service posts. */
import { dereference, isReference, type ContractDocument, type Reference, type SchemaObject } from './openapi.ts';

/** A schema, limited to the keywords that the events of the contract use. */
interface EventSchema extends SchemaObject {
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: { readonly [name: string]: EventSchema | Reference };
  readonly enum?: readonly string[];
  readonly 'x-extensible-enum'?: readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly examples?: readonly unknown[];
}

type Schemas = { readonly [name: string]: EventSchema };

const recordPrefix = 'Event';
const catalogue = 'WebhookDeliveryEventType';
const envelope = 'WebhookEnvelope';

/**
 * @param document the bundled contract
 * @param marker the line that says that the page is generated, and from which source
 * @returns Markdown: the envelope, every type in the order of the catalogue with its meaning, its `data` and an example body, and the
 * records inside `data`
 * @throws Error if the catalogue and the events differ, if an event has no example, or if a field has no description
 */
export function eventsPage(document: ContractDocument, marker: string): string {
  const schemas: Schemas = document.components.schemas;
  const types = catalogueOf(document);
  const events = types.map((type) => readEvent(document, type));
  const records = recordsOf(schemas, events);
  return (
    [
      `<!-- ${marker} -->`,
      '# Events',
      'Every event that the service posts to webhook endpoints, with an example of its body. How to receive them: [Receive webhooks](../how-to/receive-webhooks.md).',
      table(
        ['type', 'meaning'],
        events.map(({ type, meaning }) => [`[\`${type}\`](#${anchorOf(type)})`, meaning]),
      ),
      'An endpoint receives the types that it asked for, and `webhook.test` when an administrator sends a test message. A later version may add fields: ignore those that you do not know.',
      '## The envelope',
      descriptionOf(envelope, schema(schemas, envelope)),
      fieldsTable(schemas, schema(schemas, envelope)),
      '## Types',
      ...events.flatMap(({ type, meaning, data, example }) => [
        `### ${type}`,
        meaning,
        'Fields of `data`:',
        fieldsTable(schemas, data),
        `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
      ]),
      '## Records',
      'What stands in `data`. A *delivery* here is what a club sold or granted, not the sending of an event. A field that is not required is absent where it does not apply; none is ever `null`.',
      ...records.flatMap((name) => [
        `### ${titleOf(name)}`,
        descriptionOf(name, schema(schemas, name)),
        fieldsTable(schemas, schema(schemas, name)),
      ]),
      '',
    ]
      .join('\n\n')
      .trimEnd() + '\n'
  );
}

interface EventReading {
  readonly type: string;
  readonly meaning: string;
  readonly data: EventSchema;
  readonly example: unknown;
}

/** Every type that a delivery can carry, in the contract's order. */
function catalogueOf(document: ContractDocument): readonly string[] {
  const schemas: Schemas = document.components.schemas;
  const types = valuesOf(schema(schemas, catalogue)) ?? [];
  const posted = Object.keys(document.webhooks);
  const odd = [...types.filter((type) => !posted.includes(type)), ...posted.filter((type) => !types.includes(type))];
  if (odd.length > 0) throw new Error(`Only in the catalogue or only in the events: ${odd.join(', ')}.`);
  return types;
}

function readEvent(document: ContractDocument, type: string): EventReading {
  const post = document.webhooks[type]?.post;
  const media = post?.requestBody?.content['application/json'] as { readonly schema: Reference } | undefined;
  if (!post || !media) throw new Error(`The event ${type} has no body.`);
  const schemas: Schemas = document.components.schemas;
  const body = dereference<EventSchema>(media.schema, schemas);
  const data = body.properties?.['data'];
  const example = body.examples?.[0];
  if (!data || isReference(data)) throw new Error(`The event ${type} does not declare its data.`);
  if (example === undefined) throw new Error(`The event ${type} has no example.`);
  return { type, meaning: post.description.trim(), data, example };
}

/** The records that the events contain, once each, in the order of their first use. */
function recordsOf(schemas: Schemas, events: readonly EventReading[]): readonly string[] {
  const met = new Set<string>();
  const visit = (holder: EventSchema): void => {
    for (const field of Object.values(holder.properties ?? {})) {
      const name = recordNameOf(field);
      if (name === undefined) {
        if (!isReference(field)) visit(field);
      } else if (!met.has(name)) {
        met.add(name);
        visit(schema(schemas, name));
      }
    }
  };
  for (const { data } of events) visit(data);
  return [...met];
}

/** One row for each field. The fields of an unnamed object follow their field, each with its path. */
function fieldsTable(schemas: Schemas, holder: EventSchema): string {
  return table(['field', 'type', 'required', 'description'], rowsOf(schemas, holder, ''));
}

function rowsOf(schemas: Schemas, holder: EventSchema, path: string): string[][] {
  return Object.entries(holder.properties ?? {}).flatMap(([name, field]) => {
    const fieldSchema = dereference<EventSchema>(field, schemas);
    const own = [
      `\`${path}${name}\``,
      typeOf(field, fieldSchema),
      holder.required?.includes(name) ? 'yes' : 'no',
      descriptionOf(`${path}${name}`, fieldSchema),
    ];
    return [own, ...(isReference(field) ? [] : rowsOf(schemas, fieldSchema, `${path}${name}.`))];
  });
}

function typeOf(field: EventSchema | Reference, fieldSchema: EventSchema): string {
  const record = recordNameOf(field);
  if (record !== undefined) return `[${titleOf(record)}](#${anchorOf(titleOf(record))})`;
  if (isReference(field) && nameOf(field) === catalogue) return '[event type](#types)';
  const values = valuesOf(fieldSchema);
  if (values) return values.map((value) => `\`${value}\``).join(', ');
  const bounds = fieldSchema.minimum === undefined ? '' : `, at least ${fieldSchema.minimum}`;
  const pattern = fieldSchema.pattern === undefined ? '' : `, \`${fieldSchema.pattern}\``;
  return `${fieldSchema.format ?? fieldSchema.type}${bounds}${pattern}`;
}

function recordNameOf(field: EventSchema | Reference): string | undefined {
  const name = isReference(field) ? nameOf(field) : '';
  return name.startsWith(recordPrefix) ? name : undefined;
}

/** The known values of an enumeration, which may grow. */
function valuesOf(fieldSchema: EventSchema): readonly string[] | undefined {
  return fieldSchema.enum ?? fieldSchema['x-extensible-enum'];
}

function nameOf({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

function titleOf(recordName: string): string {
  return recordName.slice(recordPrefix.length);
}

function descriptionOf(place: string, { description }: EventSchema): string {
  if (!description) throw new Error(`${place} has no description in contract/events.`);
  return description.trim();
}

function schema(schemas: Schemas, name: string): EventSchema {
  const found = schemas[name];
  if (!found) throw new Error(`The contract has no schema ${name}.`);
  return found;
}

/** The anchor of a heading as Markdown renderers create it: lower case, without dots. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replaceAll('.', '');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
