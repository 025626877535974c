/** The values that columns of repositories may hold. */

export const repositoryStatuses = ['draft', 'published', 'archived'] as const;
export type RepositoryStatus = (typeof repositoryStatuses)[number];
