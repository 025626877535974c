/** The content of events: only declared fields (DEL-14), and never a national tax document (DEL-17). */
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

/** A place of a body: every schema that holds for it, together. */
interface Level {
  /** Names from the body's root, e.g. `data.student.name`. */
  path: string;
  schemas: readonly JsonObject[];
}

/** Words by which schemas are put together that the walk below does not know, and could be led past by. */
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

/** The schema itself and all that it takes in, by reference or `allOf`. */
function together(schema: unknown): JsonObject[] {
  if (!isObject(schema)) throw new TypeError('The schema is not an object');
  for (const word of unknownWords) if (word in schema) throw new TypeError(`${word} is not looked into.`);
  const target = isReference(schema) ? closed.components.schemas[schema.$ref.split('/').at(-1) ?? ''] : undefined;
  const parts = Array.isArray(schema['allOf']) ? schema['allOf'] : [];
  return [schema, ...[...(target ? [target] : []), ...parts].flatMap(together)];
}

/** The body's own level, and every one in it. */
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
/** Whether anything could stand there that is not declared. */
const isOpen = ({ schemas }: Level): boolean => {
  const says = (key: string) => schemas.map((schema) => schema[key]);
  const isScalar =
    says('type').some((type) => scalars.includes(String(type))) || says('const').some((value) => value !== undefined);
  const isList = says('type').includes('array') && says('items').some((items) => items !== undefined);
  const isClosed = says('additionalProperties').includes(false) || says('unevaluatedProperties').includes(false);
  return !isScalar && !isList && !isClosed;
};

/** Says of a name that it could hold a tax document, in the words of one country or another. */
const speaksOfTaxDocument =
  /tax(?!i)|document|national|fiscal|passport|cpf|cnpj|ssn|\bnif\b|\bnie\b|\bdni\b|\bvat\b|\btin\b|identity/i;

describe('the events of the contract', () => {
  it('are the event types of the catalogue and webhook.test', () => {
    expect(Object.keys(contractDocument.webhooks).toSorted()).to.deep.equal([...eventTypes, 'webhook.test'].toSorted());
  });

  for (const type of [...eventTypes, 'webhook.test']) {
    describe(type, () => {
      it('no level of its body allows undeclared properties', () => {
        expect(
          levelsOf(type)
            .filter(isOpen)
            .map(({ path }) => path),
        ).to.deep.equal([]);
      });

      it('no property is named like a tax document', () => {
        const names = levelsOf(type).map(({ path }) => path);
        expect(names).to.include.members(['id', 'type', 'occurred_at', 'club_id', 'data']);
        expect(names.filter((name) => speaksOfTaxDocument.test(name.replaceAll('_', ' ')))).to.deep.equal([]);
      });
    });
  }
});

describe('the student’s tax document is never part of an event', () => {
  const taxDocument = '529.982.247-25';
  /** A row that holds more than events may tell, as one could one day. */
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

  it('bodies about students match their schema, whatever else is known of them', async () => {
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

  it('the body of webhook.test matches its schema', () => {
    const test = { eventId: newId(), clubId: newId(), endpointId: newId(), occurredAt: new Date() };
    expect(eventFaults('webhook.test', JSON.parse(assembleTestBody(test)))).to.deep.equal([]);
  });
});
