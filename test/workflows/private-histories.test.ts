/** Tests that Temporal stores no text of a person about answers and imports. */
import { NativeConnection } from '@temporalio/worker';
import { expect } from 'chai';
import { agentAnswerActivities } from '../../activities/agent-answer.ts';
import { activities as all } from '../../activities/index.ts';
import { readConfig } from '../../config.ts';
import type { Id } from '../../platform/core/ids.ts';
import { workflowIdOf, type WorkflowType } from '../../platform/engine/workflow-types.ts';
import { createWorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { keptOf } from '../toolkit/assert/histories.ts';
import { studentsOf } from '../toolkit/assert/students.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { foundPassages } from '../toolkit/builders/found-passages.ts';
import { buildConversation, buildQuestion } from '../toolkit/builders/questions.ts';
import { useAnswering } from '../toolkit/drive/answering.ts';
import { importDeps, readImport, shortReport, upload } from '../toolkit/drive/imports.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { runWorkerHere, useTemporal } from '../toolkit/stack/worker.ts';

describe('the histories of answers and imports in Temporal', function () {
  this.timeout(60_000);
  const temporal = useTemporal();
  const answering = useAnswering();
  const workers: { stop(): Promise<void> }[] = [];
  let connection: NativeConnection;
  before('connect', async () => {
    await testStack();
    connection = await NativeConnection.connect({ address: readConfig().temporal.address });
  });
  after('stop the workers', async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await connection.close();
  });

  async function startWorker(taskQueue: string, activities: object): Promise<void> {
    const { namespace } = readConfig().temporal;
    workers.push(await runWorkerHere(connection, { taskQueue, namespace, activities }));
  }

  async function start(workflowType: WorkflowType, subjectId: Id, clubId: Id) {
    const { namespace } = readConfig().temporal;
    const run = { workflowType, subjectId, clubId, attributes: { ClubId: clubId } };
    await createWorkflowClient(connection, namespace).signalWithStart(run);
    return temporal().workflow.getHandle(workflowIdOf(workflowType, subjectId));
  }

  /** Throws once at `point`. The error quotes `words`, as a Postgres error can quote a row. */
  function failingOnce(point: string, words: readonly string[]): (name: string) => Promise<void> {
    let failed = false;
    return async (name) => {
      if (name !== point || failed) return;
      failed = true;
      throw new Error(`Failing row contains (${words.join(', ')}).`);
    };
  }

  it('contain no text of a question, answer or material, even if a step fails', async () => {
    const secrets = {
      agent: 'Quillon the bosun',
      instructions: 'Never mention the Marlinspike',
      question: 'Does Rosalind splice?',
      passage: 'Splices keep nine tenths of the strength.',
      source: 'Handbook of Tarquin',
      answer: 'She splices with a fid.',
      title: 'A title',
      student: 'Stella Student',
      email: 'student-',
    };
    const deps = await answering.deps({
      passages: foundPassages({ title: secrets.source }, [[secrets.passage]]),
      failpoint: failingOnce('answer_ended', Object.values(secrets)),
    });
    await startWorker('agents', agentAnswerActivities(deps));
    const conversation = await buildConversation({
      agent: { name: secrets.agent, instructions: secrets.instructions },
    });
    const { questionId, clubId } = await buildQuestion({ content: secrets.question }, conversation);
    answering.model().next({ answer: [secrets.answer] });
    const handle = await start('agentAnswer', questionId, clubId);
    expect(await handle.result()).to.include({ status: 'complete', calls: 1 });
    const requests = JSON.stringify(answering.model().requests);
    for (const part of ['agent', 'instructions', 'question', 'passage', 'source'] as const)
      expect(requests, 'the request contains it').to.contain(secrets[part]);

    const storedText = await keptOf(handle);
    expect(storedText).to.contain(questionId).and.to.contain('fault(s) of ours');
    for (const [what, secret] of Object.entries(secrets)) expect(storedText, what).not.to.contain(secret);
  });

  it('contain no name, address or file key of an import, even if a step fails', async () => {
    const [name, email, invalidEmail] = ['Rosalind Quenby', 'rosalind.quenby@example.com', 'tarquin at example.com'];
    const failpoint = failingOnce('batch_recorded', [name, email]);
    await startWorker('imports', all.studentImport(await importDeps(() => ({ failpoint }))));
    const club = await buildClub();
    const file = `email,name\n${email},${name}\n${invalidEmail},Tarquin Vale\n`;
    const importId: string = (await upload(club, file, 'invite=true')).body.data.id;
    const handle = await start('studentImport', importId, club.id);
    expect(await handle.result()).to.equal('completed');
    expect(await readImport(club, importId)).to.include({ created: 1, failed: 1 });
    expect(await shortReport(club, importId)).to.deep.equal(['2 created', '3 failed email_invalid email']);
    expect((await studentsOf(club)).map((student) => student.email)).to.deep.equal([email]);

    const storedText = await keptOf(handle);
    expect(storedText).to.contain(importId).and.to.contain('fault(s) of ours');
    for (const secret of [
      'Rosalind',
      'Quenby',
      email,
      'Tarquin',
      invalidEmail,
      'example.com',
      `student-imports/${club.id}`,
    ])
      expect(storedText, secret).not.to.contain(secret);
  });
});
