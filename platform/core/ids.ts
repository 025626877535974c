/** Ids: UUID version 7, whose order is the order of creation, so that indexes stay dense. */
import { v7 } from 'uuid';

export type Id = string;

export const newId = (): Id => v7();

/** Stands where a club's id would, for what belongs to no club. */
export const noClub: Id = '00000000-0000-0000-0000-000000000000';
