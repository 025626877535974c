/** Students who may ask an agent, and what they do with it over HTTP. */
import { randomUUID } from 'node:crypto';
import { newId, type Id } from '../../../domain/core/ids.ts';
import { buildEnrollment } from '../builders/access.ts';
import { call, testApi, type Answer } from './api.ts';
import { testDatabase } from '../stack/database.ts';
import { openStream, type EventClient } from './event-stream.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../builders/factories.ts';

export interface TestAgent {
  id: Id;
  clubId: Id;
  publicId: string;
  deliveryId: Id;
}

export interface AgentOptions {
  status?: 'draft' | 'published' | 'archived';
  dailyLimit?: number;
  answerMaxTokens?: number;
  instructions?: string;
  model?: string | null;
}

/** An agent, published unless told, and a delivery that opens it. */
export async function buildOpenAgent(clubId: Id, options: AgentOptions = {}): Promise<TestAgent> {
  const {
    status = 'published',
    dailyLimit = 50,
    answerMaxTokens = 1_024,
    instructions = 'Be brief.',
    model = null,
  } = options;
  const source = await testDatabase();
  const [id, deliveryId] = [newId(), newId()];
  const publicId = `bosun-${id.slice(-12)}`;
  await source.query(
    `INSERT INTO agents (id, club_id, public_id, name, description, instructions, model, status, daily_limit, answer_max_tokens, created_at, updated_at)
     VALUES ($1, $2, $3, 'Bosun', 'Knows knots.', $4, $5, $6, $7, $8, now(), now())`,
    [id, clubId, publicId, instructions, model, status, dailyLimit, answerMaxTokens],
  );
  await source.query(
    `INSERT INTO access_deliveries (id, club_id, name, kind, agent_id, created_at, updated_at) VALUES ($1, $2, 'Bosun', 'agent', $3, now(), now())`,
    [deliveryId, clubId, id],
  );
  return { id, clubId, publicId, deliveryId };
}

/** A student who has had access to the agent for a minute. */
export async function buildAskingStudent({ clubId, deliveryId }: TestAgent): Promise<TestStudent> {
  const student = await buildStudent(clubId);
  await buildEnrollment(clubId, { studentId: student.id, deliveryId, startsAt: new Date(Date.now() - 60_000) });
  return student;
}

export interface Asked {
  id?: string;
  content?: string;
  conversation_id?: string;
  image_ids?: string[];
}

/** What a student does with an agent, over HTTP. @param base of another API than that of the run */
export function askingOf(agent: Pick<TestAgent, 'clubId' | 'publicId'>, { token }: { token: string }, base?: string) {
  const classroom = `/v1/clubs/${agent.clubId}/classroom`;
  const at = `${classroom}/agents/${agent.publicId}`;
  const conversation = (id: Id) => `${classroom}/conversations/${id}`;
  const bodyOf = (asked: Asked) => ({ id: randomUUID(), content: 'When is a knot a bend?', ...asked });
  const open = async (method: 'GET' | 'POST', path: string, body?: unknown): Promise<EventClient> =>
    openStream({ base: base ?? `http://127.0.0.1:${(await testApi()).port}`, method, path, token, body });

  return {
    /** Asks, and follows the stream. @throws Error where the question is not accepted */
    async ask(asked: Asked = {}): Promise<Accepted> {
      const stream = await open('POST', `${at}/messages`, bodyOf(asked));
      const { data } = await stream.event('accepted');
      return { stream, data, answerId: data.answer.id, conversationId: data.conversation.id };
    },
    /** Asks what is not accepted, or whatever else is sent. */
    refused: (asked: object): Promise<Answer> => call('POST', `${at}/messages`, { token, body: bodyOf(asked) }),
    reattach: ({ conversationId, answerId }: Pick<Accepted, 'conversationId' | 'answerId'>, from?: number) =>
      open(
        'GET',
        `${conversation(conversationId)}/messages/${answerId}/stream${from === undefined ? '' : `?from=${from}`}`,
      ),
    refusedStream: (conversationId: Id, messageId: Id, query = ''): Promise<Answer> =>
      call('GET', `${conversation(conversationId)}/messages/${messageId}/stream${query}`, { token }),
    agent: (): Promise<Answer> => call('GET', at, { token }),
    conversations: (query = ''): Promise<Answer> => call('GET', `${at}/conversations${query}`, { token }),
    conversation: (id: Id, query = ''): Promise<Answer> => call('GET', conversation(id) + query, { token }),
    rename: (id: Id, title: string): Promise<Answer> => call('PATCH', conversation(id), { token, body: { title } }),
    remove: (id: Id): Promise<Answer> => call('DELETE', conversation(id), { token }),
  };
}

export interface Accepted {
  stream: EventClient;
  /** Of the `accepted` event. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests reach into events whose shape the contract has just confirmed
  data: any;
  answerId: Id;
  conversationId: Id;
}

export interface AskingClassroom extends ReturnType<typeof askingOf> {
  club: TestClub;
  /** The agent's record. */
  asked: TestAgent;
  student: TestStudent;
}

/** A club with an agent and a student who may ask it. */
export async function buildAskingClassroom(options: AgentOptions = {}): Promise<AskingClassroom> {
  const club = await buildClub();
  const asked = await buildOpenAgent(club.id, options);
  const student = await buildAskingStudent(asked);
  return { club, asked, student, ...askingOf(asked, student) };
}

/** Changes columns of an agent behind everybody's back. */
export async function alterAgent({ id }: TestAgent, column: 'status' | 'daily_limit', value: unknown): Promise<void> {
  await (await testDatabase()).query(`UPDATE agents SET ${column} = $2 WHERE id = $1`, [id, value]);
}

/** What a question leaves behind, in all clubs together: nothing may change where one is refused. */
export const questionTables = [
  'agent_conversations',
  'agent_questions',
  'agent_question_images',
  'agent_answers',
  'agent_charges',
  'agent_months',
  'club_ai_months',
  'wakes',
] as const;
