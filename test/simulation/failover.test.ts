import { FAILOVER_SCENARIOS } from './failover-scenarios.ts';
import { testScenarios } from './scenario-suite.ts';

testScenarios('A catalog that goes back breaks no promise:', FAILOVER_SCENARIOS);
