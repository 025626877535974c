/** Tests the program of the SDK: how it chooses a command, and its exit codes (SDK-9). */
import { expect } from 'chai';
import { CommandFailure, UsageError, type Command, type RunCommand } from '../../../sdk/src/commands/command.ts';
import { main } from '../../../sdk/src/commands/main.ts';
import { parseOptions, serviceAccess, serviceOptions } from '../../../sdk/src/commands/options.ts';
import { recordedIo } from '../../toolkit/drive/command-io.ts';

const command = (name: string, act: RunCommand): Command => ({
  name,
  summary: `summary of ${name}`,
  usage: `usage of ${name}`,
  load: async () => act,
});

const echo = command('echo', async (args, { out }) => {
  out(args.join(' '));
  return 7;
});
const failing = (error: Error): Command =>
  command('fail', async () => {
    throw error;
  });

async function run(args: readonly string[], ...commands: Command[]) {
  const io = recordedIo();
  return { code: await main(args, io, commands), ...io.written };
}

describe('the program of the SDK', () => {
  it('runs the named command with the other arguments, and returns its exit code', async () => {
    expect(await run(['echo', 'a', '--b'], echo)).to.deep.equal({ code: 7, out: 'a --b', error: '' });
  });

  it('lists the commands with --help', async () => {
    const { code, out } = await run(['--help'], echo);
    expect(code).to.equal(0);
    expect(out).to.include('  echo  summary of echo\n');
  });

  it('prints the usage of a command with --help, and does not run it', async () => {
    expect(await run(['echo', 'a', '--help'], echo)).to.deep.equal({ code: 0, out: 'usage of echo\n', error: '' });
  });

  it('exits with 2 and the list of commands if the name is unknown or absent', async () => {
    const unknown = await run(['ehco'], echo);
    expect([unknown.code, unknown.out]).to.deep.equal([2, '']);
    expect(unknown.error)
      .to.match(/^There is no command "ehco"\./)
      .and.include('summary of echo');
    const absent = await run([], echo);
    expect([absent.code, absent.error.split('\n')[0]]).to.deep.equal([2, 'Name a command.']);
  });

  it('exits with 2 for a wrong start, and with 1 for a failure, with the message and no stack', async () => {
    expect(await run(['fail'], failing(new UsageError('no URL')))).to.deep.equal({
      code: 2,
      out: '',
      error: 'no URL\nSee: club-learning fail --help\n',
    });
    expect(await run(['fail'], failing(new CommandFailure('gone')))).to.deep.equal({
      code: 1,
      out: '',
      error: 'gone\n',
    });
  });

  it('does not print keys and secrets that stand in a message', async () => {
    const { error } = await run(['fail'], failing(new UsageError('not clk_ab12_secret and not whsec_c2VjcmV0+/=')));
    expect(error).to.include('not clk_… and not whsec_…\n');
    expect((await run(['clk_ab12_secret'], echo)).error).to.not.include('ab12');
  });
});

describe('the options of the commands', () => {
  const env = {
    CLUB_LEARNING_API_URL: 'https://api.example.com/',
    CLUB_LEARNING_CLUB_ID: 'a',
    CLUB_LEARNING_API_KEY: 'clk_ab12_secret',
  };

  it('prefer address and club of the options, and take the key only from the environment', () => {
    expect(serviceAccess({}, env)).to.deep.equal({
      baseUrl: 'https://api.example.com',
      clubId: 'a',
      key: 'clk_ab12_secret',
    });
    expect(serviceAccess({ 'api-url': 'http://127.0.0.1:8080', club: 'b' }, env)).to.include({
      baseUrl: 'http://127.0.0.1:8080',
      clubId: 'b',
    });
    expect(() => parseOptions(['--key', 'clk_ab12_secret'], serviceOptions)).to.throw(UsageError, '--key');
  });

  it('refuse an unknown option, a missing value and an argument that is no option', () => {
    for (const args of [['--clubs', 'a'], ['--club'], ['a']])
      expect(() => parseOptions(args, serviceOptions), args.join(' ')).to.throw(UsageError);
  });

  it('name the missing or malformed value', () => {
    const without = (name: keyof typeof env) => ({ ...env, [name]: undefined });
    expect(() => serviceAccess({}, without('CLUB_LEARNING_API_KEY'))).to.throw(UsageError, 'CLUB_LEARNING_API_KEY');
    expect(() => serviceAccess({}, without('CLUB_LEARNING_API_URL'))).to.throw(UsageError, '--api-url');
    expect(() => serviceAccess({}, without('CLUB_LEARNING_CLUB_ID'))).to.throw(UsageError, '--club');
    expect(() => serviceAccess({}, { ...env, CLUB_LEARNING_API_KEY: 'session' })).to.throw(UsageError, 'clk_');
    expect(() => serviceAccess({ 'api-url': 'api.example.com' }, env)).to.throw(UsageError, 'http or https');
    expect(() => serviceAccess({ 'api-url': 'https://a:b@c.example' }, env)).to.throw(UsageError, 'password');
  });
});
