/** Tests that each export under test/ has a unique name and is used. The beginning of a name, such as `build`, decides its folder. */
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

/** Names that programs find without an import. */
const foundWithoutImport = new Set([
  'test/run/hooks.ts mochaGlobalSetup', // mocha finds this name and the next two names.
  'test/run/hooks.ts mochaGlobalTeardown',
  'test/run/hooks.ts mochaHooks',
  'test/proofs/mutation/mocha-runner.ts strykerPlugins', // by Stryker
  'test/toolkit/stack/sleeping-workflow.ts sleepFor', // The Temporal worker finds this name.
  'test/proofs/simulation/temporal/workflow.ts proxyActivities', // The workflows of simulations find this name and the next six names.
  'test/proofs/simulation/temporal/workflow.ts proxyLocalActivities',
  'test/proofs/simulation/temporal/workflow.ts defineSignal',
  'test/proofs/simulation/temporal/workflow.ts setHandler',
  'test/proofs/simulation/temporal/workflow.ts condition',
  'test/proofs/simulation/temporal/workflow.ts setCurrentDetails',
  'test/proofs/simulation/temporal/workflow.ts workflowInfo',
  'test/proofs/simulation/temporal/workflow.ts continueAsNew',
]);

/** The toolkit folders that may export a name with this prefix. */
const folders: readonly { prefix: RegExp; allowed: readonly string[] }[] = [
  { prefix: /^build[A-Z]/, allowed: ['builders'] },
  { prefix: /^start[A-Z]/, allowed: ['stack', 'fakes'] },
  { prefix: /^fake[A-Z]/, allowed: ['fakes'] },
  { prefix: /^expect[A-Z]/, allowed: ['assert', 'model', 'drive'] },
  { prefix: /^until([A-Z]|$)/, allowed: ['drive'] },
];

interface TestSourceFile {
  /** The path from the project's directory. */
  file: string;
  text: string;
}

const files: readonly TestSourceFile[] = readdirSync(path.join(projectDirectory, 'test'), { recursive: true })
  .map((file) => path.posix.join('test', String(file)))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(path.join(projectDirectory, file), 'utf8') }));

const exportsOf = ({ text }: TestSourceFile): string[] =>
  [...text.matchAll(/^export (?:async )?(?:function|const|class|interface|type) (\w+)/gm)]
    .map(([, name = '']) => name)
    .filter((name, index, names) => names.indexOf(name) === index); // Overloads of a function have the same name.

/** One text `file name` for each import from a different file under test/. */
const importsOf = ({ file, text }: TestSourceFile): string[] =>
  [
    ...text.matchAll(/^import (?:type )?\{([^}]*)\} from '(\.[^']*)';/gm),
    ...text.matchAll(/\{([^{}]*)\} = await import\('(\.[^']*)'\)/g),
  ].flatMap(([, names = '', from = '']) =>
    names
      .split(',')
      .map((name) => /(\w+)(?: as \w+)?\s*$/.exec(name.trim())?.[1] ?? '')
      .filter((name) => name !== '')
      .map((name) => `${path.posix.join(path.posix.dirname(file), from)} ${name}`),
  );

describe('exports under test/', () => {
  const exported = files.flatMap((source) => exportsOf(source).map((name) => ({ file: source.file, name })));

  it('are declarations with a name, so that this test finds each of them', () => {
    const others = files.filter(({ text }) =>
      /^export (?!(async )?(function|const|class|interface|type) \w)/m.test(text),
    );
    expect(others.map(({ file }) => file)).to.deep.equal([]);
    expect(exported).to.have.length.above(300);
  });

  it('have unique names', () => {
    const places = Map.groupBy(exported, ({ name }) => name);
    const doubles = [...places].filter(([, { length }]) => length > 1);
    expect(doubles.map(([name, at]) => `${name}: ${at.map(({ file }) => file).join(', ')}`)).to.deep.equal([]);
  });

  it('are not in test files', () => {
    expect(exported.filter(({ file }) => file.endsWith('.test.ts'))).to.deep.equal([]);
  });

  it('are imported by another file', () => {
    const imported = new Set([...files.flatMap(importsOf), ...foundWithoutImport]);
    const idle = exported.map(({ file, name }) => `${file} ${name}`).filter((one) => !imported.has(one));
    expect(idle).to.deep.equal([]);
  });

  for (const { prefix, allowed } of folders)
    it(`that match ${prefix} are in ${allowed.map((folder) => `toolkit/${folder}`).join(' or ')}`, () => {
      const misplaced = exported.filter(
        ({ file, name }) =>
          file.startsWith('test/toolkit/') &&
          prefix.test(name) &&
          !allowed.some((folder) => file.startsWith(`test/toolkit/${folder}/`)),
      );
      expect(misplaced).to.deep.equal([]);
    });
});
