/** Tags, points and levels of students. */
import * as levels from '../../../domain/learning/engagement/levels.ts';
import * as points from '../../../domain/learning/engagement/points.ts';
import * as standing from '../../../domain/learning/engagement/standing.ts';
import * as tagging from '../../../domain/learning/engagement/tagging.ts';
import * as tags from '../../../domain/learning/engagement/tags.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listTags: Operation<'listTags'> = async ({ params, query, db }) =>
  page(await tags.listTags(db, params.clubId, query));

export const createTag: Operation<'createTag'> = async ({ params, body, deps, now }) =>
  data(await tags.createTag(deps, params.clubId, body, now));

export const updateTag: Operation<'updateTag'> = async ({ params, body, deps }) =>
  data(await tags.updateTag(deps, params.clubId, params.tagId, body));

export const deleteTag: Operation<'deleteTag'> = async ({ params, deps, now }) =>
  noContent(await tags.deleteTag(deps, params.clubId, params.tagId, now));

export const tagStudent: Operation<'tagStudent'> = async ({ params, deps, now }) =>
  noContent(await tagging.tagStudent(deps, params, now));

export const untagStudent: Operation<'untagStudent'> = async ({ params, deps, now }) =>
  noContent(await tagging.untagStudent(deps, params, now));

export const listLevels: Operation<'listLevels'> = async ({ params, query, db }) =>
  page(await levels.listLevels(db, params.clubId, query));

export const createLevel: Operation<'createLevel'> = async ({ params, body, deps, now }) =>
  data(await levels.createLevel(deps, params.clubId, body, now));

export const updateLevel: Operation<'updateLevel'> = async ({ params, body, deps }) =>
  data(await levels.updateLevel(deps, params.clubId, params.levelId, body));

export const deleteLevel: Operation<'deleteLevel'> = async ({ params, deps, now }) =>
  noContent(await levels.deleteLevel(deps, params.clubId, params.levelId, now));

export const listPointAwards: Operation<'listPointAwards'> = async ({ params, query, db }) =>
  page(await points.listAwards(db, params, query));

export const awardPoints: Operation<'awardPoints'> = async ({ params, body, deps, now }) =>
  data(await points.awardByHand(deps, params, body, now));

export const getStanding: Operation<'getStanding'> = async ({ params, db }) =>
  data(await standing.readStanding(db, params));

export const getOwnStanding: Operation<'getOwnStanding'> = async ({ params, student, db }) =>
  data(await standing.readOwnStanding(db, params.clubId, student.id));
