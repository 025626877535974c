/** Every handler by its operationId. */
import type { Operations } from '../operation.ts';
import * as agentConversationReviews from './agent-conversation-reviews.ts';
import * as aiBudget from './ai-budget.ts';
import * as assignments from './assignments.ts';
import * as automations from './automations.ts';
import * as billing from './billing.ts';
import * as agentSettings from './agent-settings.ts';
import * as administratorSessions from './administrator-sessions.ts';
import * as classroom from './classroom.ts';
import * as clubs from './clubs.ts';
import * as community from './community.ts';
import * as communityPosts from './community-posts.ts';
import * as courses from './courses.ts';
import * as lessonComments from './lesson-comments.ts';
import * as deliveries from './deliveries.ts';
import * as enrollments from './enrollments.ts';
import * as agentConversations from './agent-conversations.ts';
import * as campaigns from './campaigns.ts';
import * as certificates from './certificates.ts';
import * as mail from './mail.ts';
import * as mailNotices from './mail-notices.ts';
import * as mailVisits from './mail-visits.ts';
import * as media from './media.ts';
import * as members from './members.ts';
import * as mentorships from './mentorships.ts';
import * as meta from './meta.ts';
import * as repositories from './repositories.ts';
import * as standing from './standing.ts';
import * as sales from './sales.ts';
import * as studentImports from './student-imports.ts';
import * as studentSessions from './student-sessions.ts';
import * as products from './products.ts';
import * as registrationLinks from './registration-links.ts';
import * as students from './students.ts';
import * as webhookEndpoints from './webhook-endpoints.ts';

export const operations: Operations = {
  ...administratorSessions,
  ...agentConversationReviews,
  ...aiBudget,
  ...assignments,
  ...classroom,
  ...agentSettings,
  ...clubs,
  ...community,
  ...communityPosts,
  ...courses,
  ...lessonComments,
  ...deliveries,
  ...enrollments,
  ...agentConversations,
  ...automations,
  ...campaigns,
  ...certificates,
  ...billing,
  ...mail,
  ...mailNotices,
  ...mailVisits,
  ...media,
  ...members,
  ...mentorships,
  ...meta,
  ...repositories,
  ...standing,
  ...sales,
  ...studentImports,
  ...studentSessions,
  ...products,
  ...registrationLinks,
  ...students,
  ...webhookEndpoints,
};
