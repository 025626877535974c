/** Session links: the sign-in of a club's own site opens the classroom, too. */
import * as links from '../../../domain/identity/sessions/session-links.ts';
import type { Operation } from '../../operation.ts';
import { keyOf } from '../acting.ts';
import { data } from '../answers.ts';
import { openByLink } from './sign-ins.ts';

export const createStudentSessionLink: Operation<'createStudentSessionLink'> = async ({
  params,
  body,
  actor,
  deps,
  now,
}) => data(await links.createSessionLink(deps, { ...params, ...body, apiKeyId: keyOf(actor) }, now));

export const exchangeStudentSessionLink: Operation<'exchangeStudentSessionLink'> = async (request) =>
  data(
    await openByLink(request, () => links.exchangeSessionLink(request.deps, request.body, request.client, request.now)),
  );
