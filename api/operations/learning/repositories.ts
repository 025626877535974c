/** Repositories: administrators manage them, and students open and download them. */
import * as archive from '../../../domain/repositories/archive.ts';
import * as classroom from '../../../domain/repositories/classroom.ts';
import * as repositories from '../../../domain/repositories/repositories.ts';
import type { Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

export const listRepositories: Operation<'listRepositories'> = async ({ params, query, db, deps }) =>
  page(await repositories.listRepositories({ ...deps, db }, params.clubId, query));

export const createRepository: Operation<'createRepository'> = async ({ params, body, deps, now }) =>
  data(await repositories.createRepository(deps, params.clubId, body, now));

export const getRepository: Operation<'getRepository'> = async ({ params, db, deps }) =>
  data(await repositories.findRepository({ ...deps, db }, params.clubId, params.repositoryId));

export const updateRepository: Operation<'updateRepository'> = async ({ params, body, deps, now }) =>
  data(await repositories.updateRepository(deps, params.clubId, params.repositoryId, body, now));

export const setRepositoryItems: Operation<'setRepositoryItems'> = async ({ params, body, deps, now }) =>
  data(await repositories.setItems(deps, params.clubId, params.repositoryId, body, now));

export const listClassroomRepositories: Operation<'listClassroomRepositories'> = async ({
  query,
  student,
  db,
  deps,
  now,
}) => page(await classroom.listOwnRepositories({ ...deps, db }, student, query, now));

export const getClassroomRepository: Operation<'getClassroomRepository'> = async ({ params, student, db, deps, now }) =>
  data(await classroom.openRepository({ ...deps, db }, student, params.publicId, now));

export const downloadRepository: Operation<'downloadRepository'> = async ({ params, student, deps, now }) =>
  data(await archive.offerDownload(deps, student, params.publicId, now));
