/**
 * Renders every document in every language, and checks values, links, language, direction and words. After a change of the layout:
 * `UPDATE_STRUCTURES=1 npm test -- test/domain/language/walk.test.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, TYPE, type MessageFormatElement } from '@formatjs/icu-messageformat-parser';
import { expect } from 'chai';
import { parseDocument } from 'htmlparser2';
import ICAL from 'ical.js';
import type { MessageKey } from '../../../domain/language/arguments.ts';
import { en } from '../../../domain/language/catalogues/en.ts';
import { catalogues, directionOf, offeredLanguages, type OfferedLanguage } from '../../../domain/language/languages.ts';
import { wordingIn } from '../../../domain/language/wording.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';
import { at, calendarEntry, documentsIn, mailsWithLink, values, type Document } from './documents.ts';

const structuresFile = new URL('structures.json', import.meta.url);

interface Node {
  type: string;
  name?: string;
  data?: string;
  attribs?: Record<string, string>;
  children?: Node[];
}

function nodesOf(html: string): Node[] {
  const walk = (node: Node): Node[] => [node, ...(node.children ?? []).flatMap(walk)];
  return walk(parseDocument(html));
}

/** The words that people and screen readers read. */
function textsOf({ html, texts }: Document): string[] {
  if (html === undefined) return [...texts];
  const nodes = nodesOf(html);
  const styles = new Set(
    nodes.filter(({ type }) => type === 'style' || type === 'script').flatMap((node) => node.children ?? []),
  );
  const visible = nodes.filter((node) => node.type === 'text' && !styles.has(node)).map(({ data = '' }) => data);
  const named = nodes.flatMap(({ attribs = {} }) =>
    ['title', 'alt', 'aria-label'].flatMap((name) => attribs[name] ?? []),
  );
  const framed = nodes.flatMap(({ attribs = {} }) => attribs['srcdoc'] ?? []);
  return [...texts, ...visible, ...named, ...framed.flatMap((inner) => textsOf({ name: '', html: inner, texts: [] }))];
}

const withoutIsolates = (text: string) => text.replaceAll(/[\u2066-\u2069]/g, '');
const wordsOf = (text: string) =>
  withoutIsolates(text)
    .toLowerCase()
    .match(/\p{L}{2,}/gu) ?? [];

function literalsOf(elements: readonly MessageFormatElement[]): string[] {
  return elements.flatMap((element) => {
    if (element.type === TYPE.literal) return [element.value];
    if (element.type !== TYPE.plural && element.type !== TYPE.select) return [];
    return Object.values(element.options).flatMap(({ value }) => literalsOf(value));
  });
}
const wordsOfCatalogue = (messages: Readonly<Record<string, string>>) =>
  new Set(Object.values(messages).flatMap((text) => literalsOf(parse(text, { ignoreTag: true })).flatMap(wordsOf)));

/** The language's catalogue lacks these English words. */
function foreignWords(language: OfferedLanguage): Set<string> {
  const own = wordsOfCatalogue(catalogues[language].messages);
  return new Set([...wordsOfCatalogue(en)].filter((word) => !own.has(word)));
}

/** Also includes the elements inside frames. */
function structureOf(html: string): string {
  return nodesOf(html)
    .flatMap(({ name, attribs }) => {
      if (name === undefined) return [];
      return attribs?.['srcdoc'] === undefined ? [name] : [`${name}(${structureOf(attribs['srcdoc'])})`];
    })
    .join(' ');
}

const addressesIn = (html: string) =>
  nodesOf(html).flatMap(({ attribs = {} }) => ['href', 'action'].flatMap((name) => attribs[name] ?? []));

/** No document contains these messages, because they answer a request. */
const isAnswer = (key: string) => /^(?:refusal|answer)\./.test(key);

describe('each document that people read', function () {
  this.timeout(60_000);
  const walked = new Map<OfferedLanguage, Map<string, Document>>();
  const usedKeys = new Set<MessageKey>();

  before(async () => {
    for (const language of offeredLanguages) {
      const wording = wordingIn(language);
      const { say } = wording;
      const recording: typeof say = (key, ...rest) => {
        usedKeys.add(key);
        return say(key, ...rest);
      };
      Object.assign(wording, { say: recording });
      try {
        const documents = await documentsIn(language);
        calendarEntry(language);
        walked.set(language, new Map(documents.map((one) => [one.name, one])));
      } finally {
        Object.assign(wording, { say });
      }
    }
  });
  const documentsOf = (language: OfferedLanguage) => [...(walked.get(language)?.values() ?? [])];

  it('uses only messages of the catalogue', () => {
    expect((Object.keys(en) as MessageKey[]).filter((key) => !isAnswer(key) && !usedKeys.has(key))).to.deep.equal([]);
  });

  for (const language of offeredLanguages) {
    describe(`in ${language}`, () => {
      it('contains no missing value and no message syntax', () =>
        eachCase(documentsOf(language), (document) => {
          for (const text of textsOf(document))
            expect(text).to.not.match(/[{}]|\bundefined\b|\bnull\b|\bNaN\b|Invalid Date|\[object/);
        }));

      it('states its language and direction', () =>
        eachCase(documentsOf(language), ({ html }) => {
          if (html === undefined) return;
          const root = nodesOf(html).find(({ name }) => name === 'html');
          expect(root?.attribs).to.include({ lang: language, dir: directionOf(language) });
        }));

      it('has the same values and addresses as the English document', () =>
        eachCase(documentsOf(language), (document) => {
          const english = walked.get('en')?.get(document.name);
          const visibleValues = (one: Document | undefined) => {
            const text = withoutIsolates(textsOf(one ?? { name: '', texts: [] }).join('\n'));
            return Object.values(values).filter((value) => text.includes(value));
          };
          expect(visibleValues(document)).to.deep.equal(visibleValues(english));
          expect(addressesIn(document.html ?? '')).to.deep.equal(addressesIn(english?.html ?? ''));
        }));

      it('has the recorded structure', () => {
        const structures = Object.fromEntries(
          documentsOf(language).flatMap(({ name, html }) => (html === undefined ? [] : [[name, structureOf(html)]])),
        );
        if (process.env['UPDATE_STRUCTURES'] !== undefined && language === 'en')
          writeFileSync(structuresFile, `${JSON.stringify(structures, null, 2)}\n`);
        expect(structures).to.deep.equal(JSON.parse(readFileSync(structuresFile, 'utf8')));
      });

      it('has a calendar entry that another program can read', () => {
        const calendar = new ICAL.Component(ICAL.parse(calendarEntry(language)) as unknown[]);
        const found = calendar.getFirstSubcomponent('vevent');
        if (!found) throw new Error('The calendar has no entry');
        const entry = new ICAL.Event(found);
        expect(entry.summary).to.equal(catalogues[language].messages['calendar.session']);
        expect(entry.startDate.toJSDate()).to.deep.equal(at);
      });

      it('contains its link in both text and HTML, if the document is a mail', () =>
        eachCase(mailsWithLink, (template) => {
          const mail = walked.get(language)?.get(`mail ${template}`);
          expect(mail?.texts[1]).to.contain(values.link);
          expect(addressesIn(mail?.html ?? '')).to.include(values.link);
        }));
    });
  }

  for (const language of offeredLanguages.filter((one) => one !== 'en'))
    it(`contains no English word in ${language}`, () => {
      const foreign = foreignWords(language);
      expect(foreign.size).to.be.greaterThan(200);
      return eachCase(documentsOf(language), (document) => {
        // Addresses and codes are not words.
        const texts = textsOf(document).map((text) =>
          text.replaceAll(/https?:\/\/\S+|\S+\.(?:example|test)\b\S*|\b[A-Z0-9]{4}(?:-[A-Z0-9]{4})+\b/g, ''),
        );
        expect([...new Set(texts.flatMap(wordsOf))].filter((word) => foreign.has(word))).to.deep.equal([]);
      });
    });
});
