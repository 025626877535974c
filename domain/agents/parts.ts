/** The answers of the context `agents` to the questions that concern every context (domain/questions.ts). */
import { Agent } from '../../entities/agents/agent.ts';
import { AgentAnswer } from '../../entities/agents/agent-answer.ts';
import { AgentAnswerDelta } from '../../entities/agents/agent-answer-delta.ts';
import { AgentCall } from '../../entities/agents/agent-call.ts';
import { AgentCharge } from '../../entities/agents/agent-charge.ts';
import { AgentCitation } from '../../entities/agents/agent-citation.ts';
import { AgentConversation } from '../../entities/agents/agent-conversation.ts';
import { AgentMaterial } from '../../entities/agents/agent-material.ts';
import { AgentMonth } from '../../entities/agents/agent-month.ts';
import { AgentQuestion } from '../../entities/agents/agent-question.ts';
import { AgentQuestionImage } from '../../entities/agents/agent-question-image.ts';
import { ClubAiMonth } from '../../entities/agents/club-ai-month.ts';
import type { ContextQuestions } from '../questions.ts';
import { closeAgents } from './closing.ts';
import { purgeStudentFromAgents } from './conversations/erasure.ts';
import { exportAgents } from './student-export.ts';

export const agentsParts = {
  closeClub: closeAgents,
  eraseStudent: (tx, { studentId }, now) => purgeStudentFromAgents(tx, studentId, now),
  exportStudent: exportAgents,
  changeEmail: null,
  clubRows: [
    { of: Agent, by: 'club' },
    { of: AgentAnswer, by: { parent: AgentConversation, column: 'conversationId' } },
    { of: AgentAnswerDelta, by: { parent: AgentAnswer, column: 'answerId' } },
    { of: AgentCall, by: { parent: AgentAnswer, column: 'answerId' } },
    { of: AgentCharge, by: 'club' },
    { of: AgentCitation, by: { parent: AgentAnswer, column: 'answerId' } },
    { of: AgentConversation, by: { parent: Agent, column: 'agentId' } },
    { of: AgentMaterial, by: { parent: Agent, column: 'agentId' } },
    { of: AgentMonth, by: 'club' },
    { of: AgentQuestion, by: { parent: AgentConversation, column: 'conversationId' } },
    { of: AgentQuestionImage, by: { parent: AgentQuestion, column: 'questionId' } },
    { of: ClubAiMonth, by: 'club' },
  ],
  retention: [],
} satisfies ContextQuestions;
