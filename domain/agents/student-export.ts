/** The conversations with agents in the export of a student: questions, answers and citations (EXP-3). */
import type { ExportStudent } from '../questions.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';

export const exportAgents: ExportStudent = ({ studentId }) => ({
  sections: {
    conversations: {
      records: sql`
        SELECT conversation.id, agent.name AS agent_name, conversation.title, conversation.created_at, conversation.last_message_at
          FROM agent_conversations conversation JOIN agents agent ON agent.id = conversation.agent_id
         WHERE conversation.student_id = ${studentId} AND conversation.deleted_at IS NULL
         ORDER BY conversation.created_at, conversation.id`,
    },
    messages: {
      // While an answer is being generated, its text is in the log of deltas.
      records: sql`
        SELECT question.id AS question_id, question.conversation_id, question.content AS question,
               ARRAY(SELECT media_id FROM agent_question_images WHERE question_id = question.id ORDER BY position) AS image_ids,
               question.asked_at,
               CASE WHEN answer.status = 'generating'
                    THEN (SELECT coalesce(string_agg(text, '' ORDER BY starts_at), '') FROM agent_answer_deltas WHERE answer_id = answer.id)
                    ELSE answer.content END AS answer,
               answer.status AS answer_status, answer.completed_at AS answered_at,
               coalesce((SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                                  'cited_text', cited_text, 'source_title', source_title, 'page_from', page_from, 'page_to', page_to,
                                  'from_seconds', from_seconds, 'to_seconds', to_seconds)) ORDER BY position)
                           FROM agent_citations WHERE answer_id = answer.id), '[]'::jsonb) AS citations
          FROM agent_questions question
          JOIN agent_conversations conversation ON conversation.id = question.conversation_id AND conversation.deleted_at IS NULL
          LEFT JOIN agent_answers answer ON answer.question_id = question.id
         WHERE conversation.student_id = ${studentId} ORDER BY question.asked_at, question.id`,
    },
  },
});
