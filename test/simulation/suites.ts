/** The scenarios of a simulation, by the name of the part of the program whose real code they run. */
import { EMBEDDED_SCENARIOS } from './embedded-scenarios.ts';
import { FAILOVER_SCENARIOS } from './failover-scenarios.ts';
import { HARNESS_SCENARIOS } from './harness-scenarios.ts';
import { LEDGER_SCENARIOS } from './ledger-scenarios.ts';
import { LOSS_SCENARIOS } from './loss-scenarios.ts';
import { REMOVAL_SCENARIOS } from './removal-scenarios.ts';
import type { Scenario } from './scenario.ts';

export const SUITES: Readonly<Record<string, readonly Scenario[]>> = {
  harness: HARNESS_SCENARIOS,
  ledger: [...LEDGER_SCENARIOS, ...REMOVAL_SCENARIOS, ...FAILOVER_SCENARIOS, ...LOSS_SCENARIOS, ...EMBEDDED_SCENARIOS],
};
