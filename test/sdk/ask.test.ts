/** Tests `ask()` with the real API over a line that is cut (SDK-6). */
import { expect } from 'chai';
import { ask, createClient, isRefusal, type AgentStreamEvent, type AskOptions } from '../../sdk/src/index.ts';
import { appendWords, endAnswer, failAnswer } from '../toolkit/drive/answers.ts';
import { testApi } from '../toolkit/drive/api.ts';
import { openAskingClassroom, type AskingClassroom } from '../toolkit/drive/asking.ts';
import { startHttpLine, type HttpLine } from '../toolkit/fakes/http-line.ts';
import { startScriptedServer } from '../toolkit/fakes/scripted-server.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const content = 'When is a knot a bend?';

describe('ask() of the SDK', function () {
  this.timeout(30_000);
  let classroom: AskingClassroom;
  let line: HttpLine;
  beforeEach(async () => {
    classroom = await openAskingClassroom();
    line = await startHttpLine((await testApi()).port);
  });
  afterEach(() => line.stop());

  const question = (id?: string) => ({
    path: { clubId: classroom.club.id, publicId: classroom.openAgent.publicId },
    body: { content, ...(id !== undefined && { id }) },
  });
  const askOverLine = (options: AskOptions = {}, id?: string) =>
    ask(createClient({ baseUrl: line.base, token: classroom.student.token }), question(id), options);

  async function follow(
    events: AsyncIterable<AgentStreamEvent>,
    react: (event: AgentStreamEvent, text: string) => Promise<void>,
  ): Promise<{ names: string[]; text: string; last: AgentStreamEvent | undefined }> {
    const names: string[] = [];
    let [text, last]: [string, AgentStreamEvent | undefined] = ['', undefined];
    for await (const event of events) {
      names.push(event.event);
      if (event.event === 'delta') text += event.data.text;
      last = event;
      await react(event, text);
    }
    return { names, text, last };
  }

  const methods = () => line.requests.map((request) => request.split(' ')[0]);
  const questions = async (): Promise<number> => {
    const source = await testDatabase();
    const [row] = await source.query<{ count: number }[]>(
      'SELECT count(*)::int4 AS count FROM agent_questions WHERE club_id = $1',
      [classroom.club.id],
    );
    return row?.count ?? 0;
  };

  it('yields accepted, the pieces of the answer, and done', async () => {
    const { names, text, last } = await follow(askOverLine(), async (event) => {
      if (event.event === 'accepted') await appendWords(event.data.answer.id, 'A knot ', 'joins.');
      if (event.event === 'accepted') await endAnswer(event.data.answer.id);
    });
    expect([names[0], names.at(-1), text]).to.deep.equal(['accepted', 'done', 'A knot joins.']);
    expect(last?.event === 'done' && last.data.answer.content).to.equal(text);
    expect(methods()).to.deep.equal(['POST']);
  });

  it('continues after the last piece if the connection is cut, even after emoji', async () => {
    let answerId = '';
    const { names, text, last } = await follow(askOverLine(), async (event, received) => {
      if (event.event === 'accepted') {
        answerId = event.data.answer.id;
        await appendWords(answerId, '🪢🪢 ');
      } else if (received === '🪢🪢 ') {
        line.cut();
        await appendWords(answerId, 'bends');
      } else if (received === '🪢🪢 bends') {
        line.cut();
        await endAnswer(answerId, { text: ' hold' });
      }
    });
    expect(text).to.equal('🪢🪢 bends hold');
    expect(last?.event === 'done' && last.data.answer.content).to.equal(text);
    expect(names.filter((name) => name !== 'delta')).to.deep.equal(['accepted', 'done']);
    expect(methods()).to.deep.equal(['POST', 'GET', 'GET']);
    expect(line.requests.map((request) => /from=(\d+)/.exec(request)?.[1])).to.deep.equal([undefined, '3', '8']);
  });

  it('asks only once if the answer to the question is lost', async () => {
    line.loseNextAnswer();
    const following = follow(askOverLine(), () => Promise.resolve());
    const source = await testDatabase();
    let answer: { id: string } | undefined;
    while (!answer || line.requests.length < 3) {
      [answer] = await source.query<{ id: string }[]>('SELECT id FROM agent_answers WHERE club_id = $1', [
        classroom.club.id,
      ]);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await endAnswer(answer.id, { text: 'Always.' });
    expect((await following).text).to.equal('Always.');
    expect(methods()).to.deep.equal(['POST', 'POST', 'GET']);
    expect(await questions()).to.equal(1);
  });

  it('yields the error of an answer that fails', async () => {
    const { names, last } = await follow(askOverLine(), async (event) => {
      if (event.event === 'accepted') await failAnswer(event.data.answer.id, 'interrupted');
    });
    expect(names).to.deep.equal(['accepted', 'error']);
    expect(last?.event === 'error' && last.data.answer.status).to.equal('failed');
  });

  it('throws a refusal, and does not ask again', async () => {
    const id = '1b4e28ba-2fa1-4d3b-883f-0016d3cca427';
    for await (const event of askOverLine({}, id)) if (event.event === 'accepted') break;
    const failure: unknown = await askOverLine({}, id)
      .next()
      .catch((error: unknown) => error);
    expect(isRefusal(failure, 'message_exists')).to.equal(true);
    expect(methods()).to.deep.equal(['POST', 'POST']);
  });

  it('does not repeat a question that is refused temporarily', async () => {
    const server = await startScriptedServer(() => ({
      status: 503,
      headers: { 'retry-after': '0' },
      body: { error: { code: 'busy' } },
    }));
    try {
      const failure: unknown = await ask(createClient({ baseUrl: server.base }), question())
        .next()
        .catch((error: unknown) => error);
      expect(isRefusal(failure, 'busy')).to.equal(true);
      expect(server.requests).to.have.length(1);
    } finally {
      await server.stop();
    }
  });

  it('gives up after several connections without an event', async () => {
    line.stop();
    const failure: unknown = await askOverLine({ maxCuts: 2 })
      .next()
      .catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(TypeError);
  });

  it('throws the reason of an aborted signal', async () => {
    const controller = new AbortController();
    const reason = new Error('The student left.');
    const failure: unknown = await follow(askOverLine({ signal: controller.signal }), async (event) => {
      if (event.event === 'accepted') setTimeout(() => controller.abort(reason), 20);
    }).catch((error: unknown) => error);
    expect(failure).to.equal(reason);
  });
});
