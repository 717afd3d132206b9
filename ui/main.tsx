/** Starts the web interface. */
import './style/tokens.css';
import './style/base.css';
import './style/masthead.css';
import './style/controls.css';
import './style/home.css';
import './style/captures.css';
import './style/frame.css';
import './style/compare.css';
import './style/jobs.css';
import './style/chart.css';
import './style/search.css';
import './style/people.css';
import 'uplot/dist/uPlot.min.css';
import { render } from 'preact';
import { takeTokenFromAddress } from './api/token.ts';
import { App } from './app/app.tsx';

takeTokenFromAddress();
addEventListener('hashchange', takeTokenFromAddress);
render(<App />, document.getElementById('app')!);
