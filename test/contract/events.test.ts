/** Tests that events contain only declared fields (DEL-14), and never the number of a tax document (DEL-17). */
import { Queries } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { contractDocument } from '../../contract/document.ts';
import { isObject, isReference, type JsonObject } from '../../contract/openapi.ts';
import { closedDocument } from '../../contract/published-schemas.ts';
import { newId } from '../../platform/core/ids.ts';
import { eventTypes } from '../../platform/core/event-types.ts';
import { assembleBody } from '../toolkit/drive/facts.ts';
import { assembleTestBody } from '../../domain/webhooks/events/test-event.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { eventFaults } from '../toolkit/assert/contract-schemas.ts';

const closed = closedDocument(contractDocument);

/** A location in the body of an event, with all schemas that apply to the location. */
interface Level {
  /** The property names from the root of the body, such as `data.student.name`. */
  path: string;
  schemas: readonly JsonObject[];
}

/** Keywords that combine schemas. This test does not support them. */
const unknownWords = [
  'oneOf',
  'anyOf',
  'if',
  'not',
  'patternProperties',
  'dependentSchemas',
  'prefixItems',
  '$dynamicRef',
];

/** Returns the schema and all schemas that it includes by reference or by `allOf`. */
function together(schema: unknown): JsonObject[] {
  if (!isObject(schema)) throw new TypeError('The schema is not an object');
  for (const word of unknownWords)
    if (word in schema) throw new TypeError(`Keyword ${word} is not supported by this test`);
  const target = isReference(schema) ? closed.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : undefined;
  const parts = Array.isArray(schema['allOf']) ? schema['allOf'] : [];
  return [schema, ...[...(target ? [target] : []), ...parts].flatMap(together)];
}

function levelsIn({ path, schemas }: Level): Level[] {
  const inside = new Map<string, JsonObject[]>();
  const add = (name: string, schema: unknown) => inside.set(name, [...(inside.get(name) ?? []), ...together(schema)]);
  for (const { properties, items } of schemas) {
    if (isObject(properties)) for (const [name, schema] of Object.entries(properties)) add(name, schema);
    if (items !== undefined) add('[]', items);
  }
  const levels = [...inside].map(([name, of]) => ({ path: path === '' ? name : `${path}.${name}`, schemas: of }));
  return [{ path, schemas }, ...levels.flatMap(levelsIn)];
}

const levelsOf = (type: string): Level[] => {
  const content = closed.webhooks[type]?.post.requestBody?.content['application/json'];
  return levelsIn({ path: '', schemas: together(isObject(content) ? content['schema'] : undefined) });
};

const scalars = ['string', 'integer', 'number', 'boolean'];
/** Whether the schemas of the location allow undeclared properties. */
const isOpen = ({ schemas }: Level): boolean => {
  const says = (key: string) => schemas.map((schema) => schema[key]);
  const isScalar =
    says('type').some((type) => scalars.includes(String(type))) || says('const').some((value) => value !== undefined);
  const isList = says('type').includes('array') && says('items').some((items) => items !== undefined);
  const isClosed = says('additionalProperties').includes(false) || says('unevaluatedProperties').includes(false);
  return !isScalar && !isList && !isClosed;
};

/** Matches a field name that could stand for a tax document of some country. Events must not contain such a field. */
const speaksOfTaxDocument =
  /tax(?!i)|document|national|fiscal|passport|cpf|cnpj|ssn|\bnif\b|\bnie\b|\bdni\b|\bvat\b|\btin\b|identity/i;

describe('the events of the contract', () => {
  it('are exactly the event types of the catalogue, and webhook.test', () => {
    expect(Object.keys(contractDocument.webhooks).toSorted()).to.deep.equal([...eventTypes, 'webhook.test'].toSorted());
  });

  for (const type of [...eventTypes, 'webhook.test']) {
    describe(type, () => {
      it('allows no undeclared property at any level of its body', () => {
        expect(
          levelsOf(type)
            .filter(isOpen)
            .map(({ path }) => path),
        ).to.deep.equal([]);
      });

      it('has no property whose name could mean a tax document', () => {
        const names = levelsOf(type).map(({ path }) => path);
        expect(names).to.include.members(['id', 'type', 'occurred_at', 'club_id', 'data']);
        expect(names.filter((name) => speaksOfTaxDocument.test(name.replaceAll('_', ' ')))).to.deep.equal([]);
      });
    });
  }
});

describe('the tax document of a student', () => {
  const taxDocument = '529.982.247-25';
  /** A student's row with a tax document, which a later version could add. */
  const student = {
    id: newId(),
    name: 'Stella Student',
    email: 'stella@example.com',
    verified: true,
    createdAt: new Date('2026-02-20T08:00:00.123Z'),
    removed: false,
    taxDocument,
    tax_document: taxDocument,
  };

  it('is not in the body of an event about the student, and the body matches its schema', async () => {
    const { manager } = await testDatabase();
    for (const type of ['student.created', 'student.updated', 'student.removed'] as const) {
      const fact = {
        id: newId(),
        clubId: newId(),
        type,
        studentId: student.id,
        subjectId: null,
        details: null,
        occurredAt: new Date(),
      };
      const body = await assembleBody(new Queries(manager), fact, student, new Date());
      expect(eventFaults(type, JSON.parse(body)), type).to.deep.equal([]);
      expect(body, type).not.to.include(taxDocument);
    }
  });

  it('is not in the body of webhook.test, because this body matches its schema', () => {
    const test = { eventId: newId(), clubId: newId(), endpointId: newId(), occurredAt: new Date() };
    expect(eventFaults('webhook.test', JSON.parse(assembleTestBody(test)))).to.deep.equal([]);
  });
});
