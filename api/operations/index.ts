/** Lists the handlers of all operations by `operationId`. */
import type { Operations } from '../operation.ts';
import * as agentConversationReviews from './agents/agent-conversation-reviews.ts';
import * as aiBudget from './agents/ai-budget.ts';
import * as assignments from './learning/assignments.ts';
import * as automations from './mail/automations.ts';
import * as billing from './club/billing.ts';
import * as apiKeys from './club/api-keys.ts';
import * as auditLog from './club/audit-log.ts';
import * as agentSettings from './agents/agent-settings.ts';
import * as administratorSessions from './people/administrator-sessions.ts';
import * as classroom from './learning/classroom.ts';
import * as clubs from './club/clubs.ts';
import * as community from './community/community.ts';
import * as identityProviders from './people/identity-providers.ts';
import * as communityPosts from './community/community-posts.ts';
import * as courses from './learning/courses.ts';
import * as lessonComments from './learning/lesson-comments.ts';
import * as clubExports from './club/exports.ts';
import * as deliveries from './webhooks/deliveries.ts';
import * as erasures from './club/erasures.ts';
import * as erasureCertificates from './people/erasure-certificates.ts';
import * as enrollments from './learning/enrollments.ts';
import * as agentConversations from './agents/agent-conversations.ts';
import * as bulkJobs from './people/bulk-jobs.ts';
import * as campaigns from './mail/campaigns.ts';
import * as certificates from './learning/certificates.ts';
import * as exportOperations from './people/exports.ts';
import * as mail from './mail/mail.ts';
import * as mailNotices from './mail/mail-notices.ts';
import * as mailVisits from './mail/mail-visits.ts';
import * as media from './club/media.ts';
import * as members from './people/members.ts';
import * as mentorships from './learning/mentorships.ts';
import * as meta from './meta.ts';
import * as ownAccount from './people/own-account.ts';
import * as passkeys from './people/passkeys.ts';
import * as repositories from './learning/repositories.ts';
import * as secondFactors from './people/second-factors.ts';
import * as sessionLinks from './people/session-links.ts';
import * as standing from './people/standing.ts';
import * as sales from './club/sales.ts';
import * as studentImports from './people/student-imports.ts';
import * as studentSessions from './people/student-sessions.ts';
import * as products from './club/products.ts';
import * as registrationLinks from './people/registration-links.ts';
import * as students from './people/students.ts';
import * as events from './webhooks/events.ts';
import * as webhookEndpoints from './webhooks/webhook-endpoints.ts';

export const operations: Operations = {
  ...administratorSessions,
  ...identityProviders,
  ...agentConversationReviews,
  ...aiBudget,
  ...apiKeys,
  ...auditLog,
  ...assignments,
  ...classroom,
  ...agentSettings,
  ...clubs,
  ...clubExports,
  ...community,
  ...communityPosts,
  ...courses,
  ...lessonComments,
  ...deliveries,
  ...enrollments,
  ...erasures,
  ...erasureCertificates,
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
  ...passkeys,
  ...mentorships,
  ...meta,
  ...ownAccount,
  ...repositories,
  ...secondFactors,
  ...sessionLinks,
  ...standing,
  ...sales,
  ...studentImports,
  ...bulkJobs,
  ...studentSessions,
  ...products,
  ...exportOperations,
  ...registrationLinks,
  ...students,
  ...events,
  ...webhookEndpoints,
};
