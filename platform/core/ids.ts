/** Ids: UUID version 7, whose order is the order of creation, so that indexes stay dense. */
import { v7 } from 'uuid';

export type Id = string;

export const newId = (): Id => v7();

/** In place of a club's id, for rows that belong to no club. */
export const noClub: Id = '00000000-0000-0000-0000-000000000000';
