/**
 * The scopes of API keys (KEY-3). An operation that an administrator may call under a club's path is open to keys with a scope of its
 * resource, unless it is closed here with a reason.
 */
import type { Method, OperationObject } from '../openapi.ts';
import type { OperationId } from '../operations.ts';

/** The security scheme of the published document. No path file names it. */
export const apiKeyScheme = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'clk_<8>_<43><6>',
  description:
    'API key of a club, for programs. Each operation that accepts keys names the scope that a key needs (`x-scope`).',
} as const;

/** The resource of the scopes of each tag. Operations of other tags are closed to keys. */
const resources = {
  Clubs: 'club',
  'Plans and billing': 'club',
  Students: 'students',
  'Student imports': 'students',
  'Bulk jobs': 'bulk_jobs',
  Courses: 'courses',
  Cohorts: 'courses',
  'Lesson comments': 'courses',
  Assignments: 'assignments',
  Certificates: 'certificates',
  Tags: 'tags',
  'Points and levels': 'points',
  Deliveries: 'deliveries',
  Enrollments: 'enrollments',
  'Webhook endpoints': 'webhooks',
  Events: 'events',
  Agents: 'agents',
  Campaigns: 'campaigns',
  Mail: 'mail',
  Automations: 'automations',
  Repositories: 'repositories',
  Community: 'community',
  Products: 'products',
  'Registration links': 'registration_links',
  Media: 'media',
  Mentorships: 'mentorships',
  Sales: 'sales',
} as const satisfies Readonly<Record<string, string>>;

/** Operations whose scope is not the one of their tag. */
const ownScopes = {
  listAgentConversations: 'conversations',
  getAgentConversation: 'conversations',
  createStudentSessionLink: 'sessions',
} as const satisfies { readonly [operation in OperationId]?: string };

/** The `x-scope` of operations that every key may call, whatever its scopes. It is no scope that a key can have. */
export const anyScope = 'any';

/** Operations that every key may call, because they tell a key about itself. */
const openToEveryKey: ReadonlySet<string> = new Set<OperationId>(['getCurrentApiKey']);

/** Operations of these tags that no key may call, each with the reason. */
const closedToKeys = {
  buyAddOn: 'It spends the money of the club.',
  listAddOns: 'It shows what the club pays.',
  openCheckout: 'It leads to a page that spends the money of the club.',
  openBillingPortal: 'It leads to a page that shows and changes what the club pays.',
  setAiBudgetLimit: 'It decides what the club spends.',
  removeAiBudgetLimit: 'It decides what the club spends.',
  reviewAssignmentSubmission: 'The review carries the name of a person.',
  deleteComment: 'A person moderates.',
  listSpacePosts: 'Posts are read and written as a person.',
  publishSpacePost: 'Posts are read and written as a person.',
  getPost: 'Posts are read and written as a person.',
  updatePost: 'Posts are read and written as a person.',
  deletePost: 'Posts are read and written as a person.',
  reactToPost: 'A person reacts.',
  takeBackReactionToPost: 'A person reacts.',
  listPostComments: 'Comments are read and written as a person.',
  publishPostComment: 'Comments are read and written as a person.',
  updatePostComment: 'Comments are read and written as a person.',
  deletePostComment: 'Comments are read and written as a person.',
  reactToComment: 'A person reacts.',
  takeBackReactionToComment: 'A person reacts.',
  moderatePost: 'A person moderates.',
  moderateComment: 'A person moderates.',
  dismissCommunityReport: 'A person moderates.',
  listCommunityReports: 'A person moderates.',
  listCommunityModerations: 'A person moderates.',
} as const satisfies { readonly [operation in OperationId]?: string };

type Resource = (typeof resources)[keyof typeof resources] | (typeof ownScopes)[keyof typeof ownScopes];
export type Scope = `${Resource}:${'read' | 'write'}`;

/** Resources whose operations only read, or only write. */
const oneSided: Readonly<Partial<Record<Resource, 'read' | 'write'>>> = { conversations: 'read', sessions: 'write' };

/** Every scope, in alphabetical order. */
export const scopes: readonly Scope[] = [
  ...new Set<Resource>([...Object.values(resources), ...Object.values(ownScopes)]),
]
  .toSorted()
  .flatMap((resource): Scope[] => {
    const side = oneSided[resource];
    return side ? [`${resource}:${side}`] : [`${resource}:read`, `${resource}:write`];
  });

/**
 * @param operation the operation as its path file describes it
 * @returns the scope that a key needs for the operation, or {@link anyScope}; undefined if the operation is closed to keys
 */
export function scopeOf(
  method: Method,
  { operationId, tags, security }: Pick<OperationObject, 'operationId' | 'tags' | 'security'>,
): Scope | typeof anyScope | undefined {
  if (openToEveryKey.has(operationId)) return anyScope;
  if (operationId in closedToKeys || !security.some(({ admin }) => admin)) return undefined;
  const resource = valueAt(ownScopes, operationId) ?? valueAt(resources, tags[0] ?? '');
  return resource && `${resource}:${method === 'get' ? 'read' : 'write'}`;
}

function valueAt<Values extends object>(values: Values, name: string): Values[keyof Values] | undefined {
  return Object.hasOwn(values, name) ? values[name as keyof Values] : undefined;
}
