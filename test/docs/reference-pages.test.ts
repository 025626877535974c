import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readConfig } from '../../config.ts';
import { configurationPage, variablesOf } from '../../dev/configuration-page.ts';
import { projectDirectory } from '../../dev/project.ts';

const text = readFileSync(path.join(projectDirectory, 'config.ts'), 'utf8');

/** The names of all variables that a process reads. */
function variablesRead(): string[] {
  const names = new Set<string>();
  const env = new Proxy<Record<string, string>>({}, { get: (_, name) => void names.add(String(name)) });
  expect(() => readConfig(env)).to.throw('The configuration has');
  return [...names].toSorted();
}

describe('docs/reference/configuration.md', () => {
  it('names every variable that a process reads, and no other', () => {
    expect(
      variablesOf(text)
        .map(({ name }) => name)
        .toSorted(),
    ).to.deep.equal(variablesRead());
  });

  it('marks exactly those that must be set', () => {
    const required = variablesOf(text).filter(({ fallback }) => fallback === undefined);
    const env = Object.fromEntries(required.map(({ name }) => [name, 'x']));
    expect(() => readConfig({})).to.throw(`has ${required.length} mistake(s)`);
    expect(() => readConfig(env))
      .to.throw()
      .with.property('message')
      .that.does.not.contain('is missing');
  });

  it('names the values of each choice, as the configuration does when it refuses another', () => {
    const choices = variablesOf(text).filter(({ kind }) => kind.startsWith('one of '));
    expect(choices.map(({ name }) => name)).to.include.members(['LOG_LEVEL', 'NEW_CLUB_PLAN', 'AGENT_DEFAULT_MODEL']);
    const env = Object.fromEntries(choices.map(({ name }) => [name, 'another']));
    for (const { name, kind } of choices)
      expect(() => readConfig(env))
        .to.throw()
        .with.property('message')
        .that.includes(`${name} must be ${kind.replaceAll('`', '').replace(/(?<=of .*) /g, ', ')}`);
  });

  it('is refused for a choice from a list that it does not know', () => {
    expect(() => configurationPage(`const config = { /** X. */ plan: read.oneOf('X', others, 'a') };`)).to.throw(
      'does not know the list others',
    );
  });

  it('is refused for a variable without a comment', () => {
    expect(() => configurationPage(`const config = { port: read.integer('NEW_PORT', 1, 0, 9) };`)).to.throw(
      'NEW_PORT has no comment',
    );
  });
});
