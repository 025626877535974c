/**
 * Scene: a student asks an agent about a PDF of the club. The connection breaks during the answer, the student continues to read the
 * answer, and then sees the cited page.
 */
import { randomUUID } from 'node:crypto';
import type { components } from '../../../contract/generated/types.ts';
import { charactersOf } from '../../../domain/agents/answers/delta-text.policy.ts';
import { eventsOf } from '../../clients/event-stream.ts';
import { Problem } from '../../problem.ts';
import { agentWithMaterial } from '../agent-material.ts';
import { answeringPage, question } from '../handbook.ts';
import { requireOk, runPage, type Asker, type Club, type Scene } from '../scene.ts';

type Message = components['schemas']['AgentMessage'];

/** The number of characters after which the student's connection is closed. */
const closesAfter = 60;

/** @returns links to further details. If no model is configured, prints a message and returns undefined */
export async function agentAnswers(
  scene: Scene,
  club: Club,
  asker: Asker,
): Promise<{ run: string; again: string } | undefined> {
  const { begin, tell, show, environment } = scene;
  if (!environment['ANTHROPIC_API_KEY']) {
    begin(16, 'agent.left_out');
    show('npm start -- --fake-model', 'agent.fake_model');
    show('ANTHROPIC_API_KEY=… npm start', 'agent.real_model');
    return undefined;
  }
  const publicId = await agentWithMaterial(scene, club, asker);

  begin(18, 'agent.asks', { question });
  const { accepted, text } = await askAndLeave(scene, club, asker, publicId);
  tell('agent.closed', { count: charactersOf(text) });
  const answer = await comeBack(scene, club, asker, accepted, text);
  tellAnswer(scene, answer);
  return { run: runPage(scene, 'agentAnswer', accepted.question.id), again: curlLine(scene, club, asker, publicId) };
}

type Accepted = components['schemas']['AgentStreamAccepted']['data'];

/** Asks the question, and closes the connection during the answer. @returns the received text */
async function askAndLeave(
  scene: Scene,
  { clubId }: Club,
  { token }: Asker,
  publicId: string,
): Promise<{ accepted: Accepted; text: string }> {
  const { tell } = scene;
  const closing = new AbortController();
  const {
    data: body,
    error,
    response,
  } = await scene.client(token).POST('/v1/clubs/{clubId}/classroom/agents/{publicId}/messages', {
    params: { path: { clubId, publicId } },
    body: { id: randomUUID(), content: question },
    parseAs: 'stream',
    signal: closing.signal,
  });
  let accepted: Accepted | undefined;
  let text = '';
  for await (const { event, data } of eventsOf(streamOf(body, error, response))) {
    if (event === 'accepted') {
      accepted = data as Accepted;
      const { limits, conversation } = accepted;
      tell('agent.accepted', { remaining: limits.remaining, limit: limits.daily_limit, id: conversation.id });
    }
    if (event === 'delta') text += tellDelta(scene, data);
    if (charactersOf(text) >= closesAfter || event === 'done' || event === 'error') break;
  }
  closing.abort();
  if (accepted === undefined) throw new Problem('The stream began without the event “accepted”.');
  return { accepted, text };
}

/** Continues to read the answer after the text that has already arrived. @returns the rest of the answer, once the answer has ended */
async function comeBack(
  scene: Scene,
  { clubId }: Club,
  { token }: Asker,
  { conversation, answer }: Accepted,
  before: string,
): Promise<Message> {
  const {
    data: body,
    error,
    response,
  } = await scene
    .client(token)
    .GET('/v1/clubs/{clubId}/classroom/conversations/{conversationId}/messages/{messageId}/stream', {
      params: {
        path: { clubId, conversationId: conversation.id, messageId: answer.id },
        query: { from: charactersOf(before) },
      },
      parseAs: 'stream',
    });
  let text = before;
  for await (const { event, data } of eventsOf(streamOf(body, error, response))) {
    if (event === 'delta') text += tellDelta(scene, data);
    if (event === 'error') throw new Problem(`The answer failed: ${(data as { error: { code: string } }).error.code}.`);
    if (event !== 'done') continue;
    const { answer: ended } = data as { answer: Message };
    if (ended.content !== text) throw new Problem('The two streams together differ from the answer.');
    return ended;
  }
  throw new Problem('The stream ended without the event “done”.');
}

function tellAnswer({ tell }: Scene, { status, content, citations }: Message): void {
  tell('agent.answer', { status, count: charactersOf(content) });
  for (const { cited_text: passage, source_title: title = '', page_from: page } of citations) {
    const cited = passage.trim();
    if (page === undefined) tell('agent.cites', { cited, title });
    else tell('agent.cites_page', { cited, title, page });
  }
  if (!citations.some(({ page_from: page }) => page === answeringPage))
    throw new Problem(`The answer does not cite page ${answeringPage} of the handbook.`);
}

/** Prints a piece of the answer as it arrives. @returns its text */
function tellDelta({ say }: Scene, data: unknown): string {
  const { text } = data as { text: string };
  say(`   │ ${text.replaceAll('\n', '⏎')}`);
  return text;
}

/** @throws Problem when the call was refused; the message has the code and the message of the error */
function streamOf(
  body: ReadableStream<Uint8Array> | null | undefined,
  error: { error: { code: string; message?: string } } | undefined,
  response: Response,
): ReadableStream<Uint8Array> {
  return requireOk({ ...(body && { data: body }), ...(error && { error }), response });
}

/** Returns a command line with which a person can ask the question again. */
function curlLine({ environment }: Scene, { clubId }: Club, { token }: Asker, publicId: string): string {
  const body = `"{\\"id\\":\\"$(node -p 'crypto.randomUUID()')\\",\\"content\\":\\"${question}\\"}"`;
  return (
    `curl -N ${environment['PUBLIC_URL']}/v1/clubs/${clubId}/classroom/agents/${publicId}/messages` +
    ` -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d ${body}`
  );
}
