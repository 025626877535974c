/** The tour scene in which an agent answers, on the real stack. No other test would notice a failure of the scene. */
import { expect } from 'chai';
import { startApi, type RunningApi } from '../../api/server.ts';
import { startFakeModel, type FakeModel } from '../../dev/fake-model/fake-model.ts';
import { agentAnswers } from '../../dev/tour/scenes/agent.ts';
import { question } from '../../dev/tour/handbook.ts';
import { setScene, type Scene } from '../../dev/tour/scene.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { testConfig } from '../toolkit/drive/api.ts';
import { useWorker } from '../toolkit/stack/worker.ts';

describe('dev/tour: an agent answers', () => {
  const startWorker = useWorker();
  let model: FakeModel;
  let api: RunningApi;
  const lines: string[] = [];
  const sceneWith = (environment: Record<string, string>): Scene =>
    setScene({
      environment: { MAILBOX_URL: 'http://127.0.0.1:9', API_PORT: String(api.port), ...environment },
      say: (line) => lines.push(line),
      receiver: undefined as never,
    });

  before(async function () {
    this.timeout(120_000);
    model = await startFakeModel({ delayMs: 40 });
    api = await startApi(await testConfig({ ANTHROPIC_API_KEY: 'any' }));
    const settings = { ANTHROPIC_API_KEY: 'any', ANTHROPIC_BASE_URL: model.url };
    await startWorker({ ...settings, WORKER_TASK_QUEUES: 'agents,indexing,media' });
  });
  beforeEach(() => lines.splice(0));
  after(async () => {
    await api.stop();
    await model.stop();
  });

  const play = async (environment: Record<string, string>) => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    return agentAnswers(
      sceneWith(environment),
      { clubId: club.id, token: club.owner.token },
      { studentId: student.id, token: student.token },
    );
  };

  it('uploads a document, asks a question, reconnects during the answer, and shows the cited page', async function () {
    this.timeout(60_000);
    const publicUrl = `http://127.0.0.1:${api.port}`;
    const closer = await play({
      ANTHROPIC_API_KEY: 'any',
      PUBLIC_URL: publicUrl,
      TEMPORAL_UI_URL: 'http://ui',
      TEMPORAL_NAMESPACE: 'here',
    });
    const output = lines.join('\n');
    expect(output).to.match(/“Harbour Handbook” is ready \(passages: \d+, pages: 4\)/);
    expect(output).to.match(/the connection is closed after \d+ characters/);
    expect(output).to.match(/the answer is complete: \d+ characters/);
    expect(output).to.match(
      /it cites “A boat of twelve metres is moored with lines of eighteen millimetres,[^”]*” from Harbour Handbook, page 3/,
    );
    expect(output).to.include(question);
    expect(closer?.run).to.match(/^http:\/\/ui\/namespaces\/here\/workflows\/agent-answer%2F[0-9a-f-]{36}$/);
    expect(closer?.again).to.include(`curl -N ${publicUrl}/v1/clubs/`);
    expect(model.requests).to.have.length(1);
  });

  it('is left out if no model is configured, and the output names the remedy', async () => {
    expect(await play({})).to.equal(undefined);
    expect(lines.join('\n')).to.equal(
      '\n16. An agent that answers students is left out: it has no model to ask.\n' +
        '   a fake one on this machine: npm start -- --fake-model\n' +
        '   the real one: ANTHROPIC_API_KEY=… npm start',
    );
  });
});
