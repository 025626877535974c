/** The narration of the tour. Every language has every sentence, and the scenes print no sentences that are not in the catalogues. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { catalogueProblems, unusedKeys } from '../../dev/generators/catalogues.ts';
import { projectDirectory } from '../../dev/project.ts';
import { agentAnswers } from '../../dev/tour/scenes/agent.ts';
import { setScene } from '../../dev/tour/scene.ts';
import { inColumns } from '../../dev/tour/words/columns.ts';
import { tourCatalogues, tourWordsIn, type TourKey } from '../../dev/tour/words/words.ts';
import { offeredLanguages } from '../../domain/language/languages.ts';

const { en } = tourCatalogues;
const keys = Object.keys(en) as TourKey[];
const scenes = ['dev/tour/tour.ts', ...globSync('dev/tour/*.ts', { cwd: projectDirectory })];

describe('the narration of the tour', () => {
  for (const language of offeredLanguages) {
    it(`has every sentence in ${language}, with the same arguments`, () => {
      expect(catalogueProblems(language, tourCatalogues[language], en)).to.deep.equal([]);
    });

    it(`uses no plural and no option in its messages in ${language}, because the types support neither`, () => {
      const isComplex = (key: TourKey) => /\{\w+,/.test(tourCatalogues[language][key]);
      expect(keys.filter(isComplex)).to.deep.equal([]);
    });
  }

  for (const language of offeredLanguages.filter((each) => each !== 'en'))
    it(`leaves no English sentence in ${language}`, () => {
      const same = keys.filter((key) => tourCatalogues[language][key].toLowerCase() === en[key].toLowerCase());
      expect(same.filter((key) => key !== 'sign_up.status')).to.deep.equal([]);
    });

  it('contains only sentences that a scene prints', () => {
    expect(unusedKeys(projectDirectory, keys)).to.deep.equal([]);
  });

  for (const language of offeredLanguages)
    it(`is printed in the chosen language: ${language}`, async () => {
      const lines: string[] = [];
      const environment = { MAILBOX_URL: 'http://127.0.0.1:9', API_PORT: '9' };
      const scene = setScene({
        environment,
        language,
        say: (line) => lines.push(line),
        receiver: undefined as never,
      });
      await agentAnswers(scene, { clubId: 'c', token: 't' }, { studentId: 's', token: 't' });
      const words = tourWordsIn(language);
      expect(lines).to.deep.equal([
        `\n16. ${words('agent.left_out')}`,
        `   ${words('agent.fake_model')}: npm start -- --fake-model`,
        `   ${words('agent.real_model')}: ANTHROPIC_API_KEY=… npm start`,
      ]);
    });

  it('is the only text that scenes print, except requests and headers', () => {
    const printed = scenes.flatMap((file) =>
      [
        ...readFileSync(path.join(projectDirectory, file), 'utf8').matchAll(/(?<!\)\.)\bsay\(\s*(['"`])(.*?)\1\)/gs),
      ].map(([, , text = '']) => ({ file, text: text.replaceAll(/\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)?\}/g, '') })),
    );
    expect(printed).to.have.length.above(5);
    const isProtocol = (text: string) =>
      !/\p{L}/u.test(text.replaceAll(/\\n|\b(?:GET|POST|PUT)\b|[./…][/\w…]*|webhook-[a-z]+/g, ''));
    expect(printed.filter(({ text }) => !isProtocol(text))).to.deep.equal([]);
  });
});

describe('text in two columns', () => {
  it('has its second column at the same position in each line, even after combining marks', () => {
    expect(
      inColumns(
        [
          ['سرّ', 'a'],
          ['نادٍ', 'b'],
          ['Prévia', 'c'],
        ].map(([label = '', value = '']) => [label, value] as const),
      ),
    ).to.deep.equal(['سرّ       a', 'نادٍ      b', 'Prévia   c']);
  });
});
