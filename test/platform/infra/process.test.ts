/** Tests how processes end, and with which exit codes. */
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectDirectory, typescriptArguments } from '../../../dev/project.ts';
import { StartProblems } from '../../../platform/core/start-problem.ts';
import { throwMistakes } from '../../../platform/infra/process.ts';

const module = (file: string) => JSON.stringify(pathToFileURL(path.join(projectDirectory, file)).href);

/**
 * `call` is a module that uses process.ts. The test sends each signal after this output.
 */
async function end(call: string, signals: Readonly<Record<string, NodeJS.Signals>> = {}) {
  const program = `
    const { runOnce, runProcess } = await import(${module('platform/infra/process.ts')});
    const { StartProblem } = await import(${module('platform/core/start-problem.ts')});
    const forever = () => new Promise(() => setInterval(() => {}, 1_000));
    const say = (text) => process.stdout.write(text);
    await ${call};`;
  const child = spawn(process.execPath, [...typescriptArguments, '--input-type=module', '--eval', program]);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    const signal = signals[stdout];
    if (signal !== undefined) child.kill(signal);
  });
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout, stderr };
}

describe('a process that serves', () => {
  it('exits with 0 at the first signal, and immediately with 1 at the second', async () => {
    const serving = `runProcess(async () => { setTimeout(() => say('up'), 50); setInterval(() => {}, 1_000);
      return { stop: async () => { say(', stops'); await STOPPED; } }; })`;
    const [stopped, forced] = await Promise.all([
      end(serving.replace('STOPPED', 'undefined'), { up: 'SIGINT' }),
      end(serving.replace('STOPPED', 'forever()'), { up: 'SIGTERM', 'up, stops': 'SIGTERM' }),
    ]);
    expect(stopped).to.deep.equal({ code: 0, signal: null, stdout: 'up, stops', stderr: '' });
    expect(forced).to.deep.equal({ code: 1, signal: null, stdout: 'up, stops', stderr: '' });
  });

  it('exits at a signal during its start with 128 plus the signal’s number', async () => {
    const starting = `runProcess(() => { say('starts'); return forever(); })`;
    const [terminated, interrupted] = await Promise.all([
      end(starting, { starts: 'SIGTERM' }),
      end(starting, { starts: 'SIGINT' }),
    ]);
    expect(terminated).to.deep.equal({ code: 143, signal: null, stdout: 'starts', stderr: '' });
    expect(interrupted).to.deep.equal({ code: 130, signal: null, stdout: 'starts', stderr: '' });
  });
});

describe('the checks at the start of a process', () => {
  const thrownBy = (...checks: Promise<string[]>[]) => throwMistakes(checks).catch((error: unknown) => error);
  const broken = new Error('a check is broken');

  it('report all mistakes together', async () => {
    const mistakes = await thrownBy(Promise.resolve(['one']), Promise.reject(broken), Promise.resolve(['two']));
    expect(mistakes).to.be.instanceOf(StartProblems).and.have.deep.property('problems', ['one', 'two']);
    expect(await thrownBy(Promise.resolve([]), Promise.reject(broken))).to.equal(broken);
    expect(await thrownBy(Promise.resolve([]))).to.equal(undefined);
  });
});

describe('the log of a process', () => {
  it('contains a warning if the receiver of spans does not accept spans', async () => {
    const { stdout } = await end(`runOnce('It failed', async () => {
      const { useTracer } = await import(${module('platform/infra/tracing.ts')});
      const { createProcessLogger } = await import(${module('platform/infra/process.ts')});
      useTracer({ reportLosses: (tell) => tell({ spans: 3, code: '401' }) });
      createProcessLogger('api', 'info').flush();
      return 0;
    })`);
    expect(JSON.parse(stdout)).to.deep.include({
      level: 40,
      name: 'api',
      spans: 3,
      code: '401',
      msg: 'spans are lost: their receiver does not take them',
    });
  });
});

describe('a command-line program', () => {
  it('exits with the code of its work, of a signal, or with 1 after an error', async () => {
    const [returned, thrown, ended] = await Promise.all([
      end(`runOnce('It failed', async () => 3)`),
      end(`runOnce('It failed', async () => { throw new StartProblem('do this'); })`),
      end(`runOnce('It failed', () => { say('works'); return forever(); })`, { works: 'SIGTERM' }),
    ]);
    expect(returned).to.deep.equal({ code: 3, signal: null, stdout: '', stderr: '' });
    expect(thrown).to.deep.equal({ code: 1, signal: null, stdout: '', stderr: 'It failed: do this\n' });
    expect(ended).to.deep.equal({ code: 143, signal: null, stdout: 'works', stderr: '' });
  });
});
