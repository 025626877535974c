/** Tests that the title of each test fits into one line of a report, and that mocha runs the file of the test. */
import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { projectDirectory } from '../../dev/project.ts';

const longest = 100;
/**
 * A person runs these files to record histories and releases. Their titles name this action, such as “recording a release”.
 */
const recorders = /^test\/(?:replay|releases)\/record[\w-]*\.ts$/;

/** Returns a title without the values that a template inserts. */
function textOf(title: ts.Expression): string {
  if (ts.isStringLiteralLike(title)) return title.text;
  if (!ts.isTemplateExpression(title)) return '';
  return [title.head, ...title.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join('…');
}

/** Whether the call is `describe(…)`, `it(…)`, or `(condition ? it : it.skip)(…)`. */
function isTitled(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return callee.text === 'describe' || callee.text === 'it';
  if (ts.isPropertyAccessExpression(callee)) return isTitled(callee.expression);
  if (ts.isParenthesizedExpression(callee)) return isTitled(callee.expression);
  return ts.isConditionalExpression(callee) && isTitled(callee.whenTrue);
}

function titlesIn(node: ts.Node): string[] {
  const inside: string[] = [];
  ts.forEachChild(node, (child) => void inside.push(...titlesIn(child)));
  if (!ts.isCallExpression(node) || !isTitled(node.expression)) return inside;
  const [title] = node.arguments;
  return title ? [textOf(title), ...inside] : inside;
}

const titlesOf = (file: string, text: string) =>
  titlesIn(ts.createSourceFile(file, text, ts.ScriptTarget.Latest)).map((title) => ({ file, title }));

const listed = (titles: readonly { file: string; title: string }[]) =>
  titles.map(({ file, title }) => `${file}: ${title}`).join('\n');

describe('titles of tests', () => {
  let titles: { file: string; title: string }[];
  before('read every file under test/', () => {
    const files = readdirSync(path.join(projectDirectory, 'test'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => path.posix.join('test', ...file.split(path.sep)));
    titles = files.flatMap((file) => {
      const text = readFileSync(path.join(projectDirectory, file), 'utf8');
      return /\b(?:describe|it)\b/.test(text) ? titlesOf(file, text) : [];
    });
  });

  it(`have at most ${longest} characters`, () => {
    expect(titles).to.have.length.above(2_000);
    const long = titles.filter(({ title }) => title.length > longest);
    expect(long, listed(long)).to.have.length(0);
  });

  it('appear only in files that end in .test.ts, or in recorders', () => {
    const others = titles.filter(({ file }) => !file.endsWith('.test.ts') && !recorders.test(file));
    expect(others, listed(others)).to.have.length(0);
  });

  it('are found even in nested calls, templates, skipped tests and conditions', () => {
    const text = "describe('a', () => { it.skip(`b ${1} c`); (x ? it : it.skip)('d', f); expect('e'); });";
    expect(titlesOf('x.ts', text).map(({ title }) => title)).to.deep.equal(['a', 'b … c', 'd']);
  });
});
