/** Tags, points and levels of students. */
import {
  createLevel as newLevel,
  deleteLevel as removeLevel,
  listLevels as levels,
  presentLevel,
  updateLevel as changeLevel,
} from '../../domain/learning/engagement/levels.ts';
import { awardByHand, listAwards, presentAward } from '../../domain/learning/engagement/points.ts';
import {
  ownStandingOf,
  presentOwnStanding,
  presentStanding,
  standingOf,
} from '../../domain/learning/engagement/standing.ts';
import { tagStudent as tag, untagStudent as untag } from '../../domain/learning/engagement/tagging.ts';
import {
  createTag as newTag,
  deleteTag as removeTag,
  listTags as tags,
  presentTag,
  updateTag as changeTag,
} from '../../domain/learning/engagement/tags.ts';
import { findStudent } from '../../domain/identity/students.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listTags: Operation<'listTags'> = async ({ params, query, services }) => {
  const { rows, total } = await tags(services.database, params.clubId, query);
  return listed({ rows: rows.map(presentTag), total });
};

export const createTag: Operation<'createTag'> = async ({ params, body, services, now }) => ({
  data: presentTag(await newTag(services.database, params.clubId, body, now)),
});

export const updateTag: Operation<'updateTag'> = async ({ params, body, services }) => ({
  data: presentTag(await changeTag(services.database, params.clubId, params.tagId, body)),
});

export const deleteTag: Operation<'deleteTag'> = async ({ params, services, now }) => {
  await removeTag(services.database, params.clubId, params.tagId, now);
  return undefined;
};

export const tagStudent: Operation<'tagStudent'> = async ({ params, services, now }) => {
  await services.database.transaction((tx) => tag(tx, params, now));
  return undefined;
};

export const untagStudent: Operation<'untagStudent'> = async ({ params, services, now }) => {
  await services.database.transaction((tx) => untag(tx, params, now));
  return undefined;
};

export const listLevels: Operation<'listLevels'> = async ({ params, query, services }) => {
  const { rows, total } = await levels(services.database, params.clubId, query);
  return listed({ rows: rows.map(presentLevel), total });
};

export const createLevel: Operation<'createLevel'> = async ({ params, body, services, now }) => ({
  data: presentLevel(await newLevel(services.database, params.clubId, body, now)),
});

export const updateLevel: Operation<'updateLevel'> = async ({ params, body, services }) => ({
  data: presentLevel(await changeLevel(services.database, params.clubId, params.levelId, body)),
});

export const deleteLevel: Operation<'deleteLevel'> = async ({ params, services, now }) => {
  await removeLevel(services.database, params.clubId, params.levelId, now);
  return undefined;
};

export const listPointAwards: Operation<'listPointAwards'> = async ({ params, query, services }) => {
  const tx = services.database;
  const student = await findStudent(tx, params.clubId, params.studentId);
  const { rows, total } = await listAwards(tx, student.id, query);
  return listed({ rows: rows.map(presentAward), total });
};

export const awardPoints: Operation<'awardPoints'> = async ({ params, body, services, now }) => {
  const made = await services.database.transaction((tx) => awardByHand(tx, params, body, now));
  return { data: presentAward(made) };
};

export const getStanding: Operation<'getStanding'> = async ({ params, services }) => {
  const tx = services.database;
  const student = await findStudent(tx, params.clubId, params.studentId);
  return { data: presentStanding(await standingOf(tx, params.clubId, student.id)) };
};

export const getOwnStanding: Operation<'getOwnStanding'> = async ({ params, student, services }) => ({
  data: presentOwnStanding(await ownStandingOf(services.database, params.clubId, student.id)),
});
