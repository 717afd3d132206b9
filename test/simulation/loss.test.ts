import { LOSS_SCENARIOS } from './loss-scenarios.ts';
import { testScenarios } from './scenario-suite.ts';

testScenarios('A catalog that is lost breaks no promise:', LOSS_SCENARIOS);
