/** Loaded before a process of the service that a test starts (`node --import`): its statements are recorded, too. */
import { recordStatements } from './recording.ts';

recordStatements();
