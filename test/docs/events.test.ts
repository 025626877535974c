/** Tests docs/reference/events.md, which is generated from the contract's events. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { contractDocument } from '../../contract/document.ts';
import { eventsPage } from '../../contract/events-page.ts';
import { isObject, type JsonObject } from '../../contract/openapi.ts';
import { eventTypes } from '../../platform/core/event-types.ts';
import { eventFaults } from '../toolkit/assert/contract-schemas.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const page = readFileSync(new URL('../../docs/reference/events.md', import.meta.url), 'utf8');

/** For each event type, the section of the page whose heading names the type. */
const sections = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((section): [string, string] => {
      const end = section.indexOf('\n');
      return [section.slice(0, end), section.slice(end)];
    }),
);

const exampleIn = (section = ''): unknown => JSON.parse(/^```json\n([\s\S]*?)^```$/m.exec(section)?.[1] ?? 'null');

/** Returns a function that removes the part of the contract at this path, and then generates the page. */
function pageWithout(...steps: readonly string[]): () => string {
  return () => {
    const document = structuredClone(contractDocument);
    const holder = steps.slice(0, -1).reduce<JsonObject>((at, step) => {
      const next = at[step];
      if (!isObject(next)) throw new TypeError(`The contract has nothing at ${step}.`);
      return next;
    }, document);
    const last = steps.at(-1) ?? '';
    if (!(last in holder)) throw new TypeError(`The contract has nothing at ${last}.`);
    delete holder[last];
    return eventsPage(document, 'Generated.');
  };
}

describe('docs/reference/events.md', () => {
  for (const type of [...eventTypes, 'webhook.test']) {
    it(`shows the meaning, the data and a valid example of ${type}`, async () => {
      const section = sections.get(type);
      expect(section).to.include(contractDocument.webhooks[type]?.post.description.trim());
      const example = exampleIn(section) as { type: string; data: object };
      expect(eventFaults(type, example)).to.deep.equal([]);
      expect(example.type).to.equal(type);
      await eachCase(Object.keys(example.data), (field) => expect(section).to.include(`| \`${field}\` |`));
    });
  }

  it('describes every field and states whether it is always present', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    expect(rows).to.have.length.above(60);
    expect(rows.filter((row) => !/^\| `[\w.]+` \| .+ \| (yes|no) \| .+\. \|$/.test(row))).to.deep.equal([]);
  });

  it('links to headings of the page', () => {
    const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading.toLowerCase().replaceAll('.', '').replaceAll(' ', '-'),
    );
    const targets = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, target = '']) => target);
    expect(targets).to.have.length.above(eventTypes.length);
    expect(targets.filter((target) => !anchors.includes(target))).to.deep.equal([]);
  });

  it('is not generated if an example, a description or an event type is missing', () => {
    const inSchemas = (...steps: readonly string[]) => pageWithout('components', 'schemas', ...steps);
    expect(inSchemas('StudentTaggedEvent', 'examples')).to.throw('student.tagged has no example');
    expect(inSchemas('EventTag', 'properties', 'name', 'description')).to.throw('name has no description');
    expect(inSchemas('EventTag', 'description')).to.throw('tag has no description');
    expect(pageWithout('webhooks', 'student.tagged')).to.throw(
      'Only in the catalogue or only in the events: student.tagged.',
    );
  });
});
