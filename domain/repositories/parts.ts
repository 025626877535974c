/** The answers of the context `repositories` to the questions that concern every context (domain/questions.ts). */
import { Repository } from '../../entities/repositories/repository.ts';
import { RepositoryItem } from '../../entities/repositories/repository-item.ts';
import type { ContextQuestions } from '../questions.ts';

export const repositoriesParts = {
  closeClub: null, // nothing is under way
  eraseStudent: null,
  exportStudent: null,
  changeEmail: null,
  clubRows: [
    { of: Repository, by: 'club' },
    { of: RepositoryItem, by: { parent: Repository, column: 'repositoryId' } },
  ],
  retention: [],
} satisfies ContextQuestions;
