/** What can be done on a tab, by the name that the protocol gives it. */
import {
  StepClick,
  StepDialog,
  StepDrag,
  StepEvaluate,
  StepFill,
  StepHover,
  StepNavigate,
  StepPress,
  StepReady,
  StepScreenshot,
  StepScroll,
  StepSeek,
  StepSelect,
  StepType,
  StepUpload,
} from '../../protocol';
import { click } from './operations/click';
import { answerDialog } from './operations/dialog';
import { drag } from './operations/drag';
import { evaluate } from './operations/evaluate';
import { fill } from './operations/fill';
import { hover } from './operations/hover';
import { navigate } from './operations/navigate';
import { press } from './operations/press';
import { ready } from './operations/ready';
import { screenshot } from './operations/screenshot';
import { scroll } from './operations/scroll';
import { seek } from './operations/seek';
import { select } from './operations/select';
import { type } from './operations/type';
import { upload } from './operations/upload';
import type { Step } from './step';

const OPERATIONS: Readonly<Record<string, (on: Step) => Promise<void>>> = {
  [StepClick]: click,
  [StepHover]: hover,
  [StepType]: type,
  [StepFill]: fill,
  [StepSelect]: select,
  [StepPress]: press,
  [StepReady]: ready,
  [StepScroll]: scroll,
  [StepSeek]: seek,
  [StepDrag]: drag,
  [StepUpload]: upload,
  [StepNavigate]: navigate,
  [StepDialog]: answerDialog,
  [StepEvaluate]: evaluate,
  [StepScreenshot]: screenshot,
};

/** Carries out a step. Throws refusals, and an error for an unknown operation. */
export async function perform(on: Step): Promise<void> {
  const { op } = on.step;
  const operation = Object.hasOwn(OPERATIONS, op) ? OPERATIONS[op] : undefined;
  if (operation === undefined)
    throw new Error(`the extension does not support "${op}": it is older than the host`);
  await operation(on);
}
