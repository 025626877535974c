/** Builds students who may ask an agent, and makes their calls over HTTP. */
import { randomUUID } from 'node:crypto';
import type { Id } from '../../../platform/core/ids.ts';
import { buildOpenAgent, type OpenAgent, type AgentOptions } from '../builders/agents.ts';
import { call, testApi, type Answer } from './api.ts';
import { openStream, type EventClient } from './event-stream.ts';
import { buildLearner } from '../builders/access.ts';
import { buildClub, type TestClub, type TestStudent } from '../builders/clubs.ts';

export interface Asked {
  id?: string;
  content?: string;
  conversation_id?: string;
  image_ids?: string[];
}

/** @param base the address of the API, if it is not the API of the test run */
export function askingOf(agent: Pick<OpenAgent, 'clubId' | 'publicId'>, { token }: { token: string }, base?: string) {
  const classroom = `/v1/clubs/${agent.clubId}/classroom`;
  const at = `${classroom}/agents/${agent.publicId}`;
  const conversation = (id: Id) => `${classroom}/conversations/${id}`;
  const bodyOf = (message: Asked) => ({ id: randomUUID(), content: 'When is a knot a bend?', ...message });
  const open = async (method: 'GET' | 'POST', path: string, body?: unknown): Promise<EventClient> =>
    openStream({ base: base ?? `http://127.0.0.1:${(await testApi()).port}`, method, path, token, body });

  return {
    async ask(message: Asked = {}): Promise<Accepted> {
      const stream = await open('POST', `${at}/messages`, bodyOf(message));
      const { data } = await stream.event('accepted');
      return { stream, data, answerId: data.answer.id, conversationId: data.conversation.id };
    },
    /** Sends a question or any other body that the API must refuse. */
    refused: (message: object): Promise<Answer> => call('POST', `${at}/messages`, { token, body: bodyOf(message) }),
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

interface Accepted {
  stream: EventClient;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read fields of events whose shape the contract has just confirmed
  data: any;
  answerId: Id;
  conversationId: Id;
}

export interface AskingClassroom extends ReturnType<typeof askingOf> {
  club: TestClub;
  /** The agent's record. */
  openAgent: OpenAgent;
  student: TestStudent;
}

/** A club with an agent and a student who may ask it. */
export async function openAskingClassroom(options: AgentOptions = {}): Promise<AskingClassroom> {
  const club = await buildClub();
  const agent = await buildOpenAgent(club.id, options);
  const student = await buildLearner(agent);
  return { club, openAgent: agent, student, ...askingOf(agent, student) };
}

/** The tables of questions of all clubs. A refused question must not change them. */
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
